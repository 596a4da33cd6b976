Feature: Recordings

  @1.13-recording
  Scenario: What came from outside is recorded as it came
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: recording, name: received, version: '1.0.0' }
    use:
      functions:
        shout: { run: { script: { language: js, code: 'console.log(n)', arguments: { n: '${ .n + 6 }' } }, return: all }, output: { as: .code } }
    do:
      - shaped:
          run: { script: { language: js, code: 'console.log("hello")' }, return: all }
          output: { as: '{ n: 1, code }' }
      - inner: { call: shout, output: { as: '{ n: 2, code: . }' } }
      - guarded:
          try: [ { missing: { call: http, with: { method: get, endpoint: 'http://localhost:1/' } } } ]
          catch: { do: [ { caught: { set: { n: 3 } } } ] }
      - late:
          try: [ { pause: { run: { script: { language: js, code: 'while (true) {}' } }, timeout: { after: { milliseconds: 50 } } } } ]
          catch: { do: [ { on: { set: { n: 4 } } } ] }
      - waits: { listen: { to: { one: { with: { type: org.example.received } } } }, output: { as: '.[0].n' } }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /test, type: org.example.received, data: { n: 5 } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    5
    """
    And the execution should have received:
    """yaml
    - '/do/0/shaped activity {"code":0,"files":[],"stderr":"","stdout":"hello"}'
    - '/do/1/inner activity {"code":0,"files":[],"stderr":"","stdout":"7"}'
    - '/do/2/guarded/try/0/missing activity 500'
    - '/do/3/late/try/0/pause none'
    - '/do/4/waits event {"data":{"n":5},"id":"1","source":"/test","specversion":"1.0","type":"org.example.received"}'
    """
