Feature: Events are stored, and no listener loses or doubles one

  @T60
  Scenario: A listen gets events of its own workflow that came before
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: before, version: '1.0.0' }
    do:
      - say: { emit: { event: { with: { type: com.example.events.before, data: { n: 1 } } } } }
      - work: { wait: { milliseconds: 10 } }
      - heard: { listen: { to: { one: { with: { type: com.example.events.before } } } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 1 } ]
    """

  @T60
  Scenario: Nothing is lost between two tasks that listen, whatever the order
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: between, version: '1.0.0' }
    do:
      - b: { emit: { event: { with: { type: com.example.events.between.b, data: b } } } }
      - a: { emit: { event: { with: { type: com.example.events.between.a, data: a } } } }
      - first:
          listen: { to: { one: { with: { type: com.example.events.between.a } } } }
          export: { as: . }
      - second:
          listen: { to: { one: { with: { type: com.example.events.between.b } } } }
          output: { as: '$context + .' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ a, b ]
    """

  @T60
  Scenario: One task has each event once, another has it too
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: once, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.events.once, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.events.once, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.events.once, data: 3 } } } }
      - rounds:
          for: { in: '[1, 2]' }
          do:
            - same:
                listen: { to: { one: { with: { type: com.example.events.once } } } }
                export: { as: '($context.same // []) as $had | { same: ($had + .) }' }
      - other:
          listen: { to: { one: { with: { type: com.example.events.once } } } }
    output: { as: '{ same: $context.same, other: . }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { same: [ 1, 2 ], other: [ 1 ] }
    """
    And same should run 2 times

  @T60
  Scenario: A retried try does not hear again what it has heard
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: retry, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.events.retry, data: bad } } } }
      - say2: { emit: { event: { with: { type: com.example.events.retry, data: good } } } }
      - guarded:
          try:
            - heard: { listen: { to: { one: { with: { type: com.example.events.retry } } } } }
            - check: { if: '.[0] == "bad"', raise: { error: { type: 'https://example.com/errors/bad', status: 400 } } }
          catch:
            retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 3 } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ good ]
    """
    And heard should run 2 times

  @T60
  Scenario: Events from before the execution are not for it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: older, version: '1.0.0' }
    do:
      - heard: { listen: { to: { one: { with: { type: com.example.events.older } } } } }
    """
    When the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/events-old, type: com.example.events.older, data: old }
    """
    And the clock has moved on
    And the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/events-old, type: com.example.events.older, data: new }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ new ]
    """

  @T60
  Scenario: Every branch that waits has the event
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: broadcast, version: '1.0.0' }
    do:
      - split:
          fork:
            branches:
              - left: { listen: { to: { one: { with: { type: com.example.events.broadcast } } } } }
              - right: { listen: { to: { any: [ { with: { type: com.example.events.broadcast } } ] } } }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/events-broadcast, type: com.example.events.broadcast, data: 1 }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ [ 1 ], [ 1 ] ]
    """

  @T60 @1.12-on
  Scenario: Every execution that waits has the event
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: audience, version: '1.0.0' }
    schedule: { on: { one: { with: { type: com.example.events.audience } } } }
    do:
      - route:
          switch:
            - scheduled: { when: '$workflow.input | type == "array"', then: other }
            - started: { then: heard }
      - heard: { listen: { to: { one: { with: { type: com.example.events.audience } } } }, then: end }
      - other: { set: { scheduled: '${ $workflow.input }' } }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'audience', source: /listen/events-broadcast, type: com.example.events.audience, data: 1 }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ 1 ]
    """
    And another execution of the workflow ends with output:
    """yaml
    scheduled: [ 1 ]
    """

  @T60
  Scenario: An event that is known by source and id is accepted and not stored again
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: events, name: double, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.events.double } } ]
              until: 'length == 2'
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/events-double, type: com.example.events.double, data: 1 }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/events-double, type: com.example.events.double, data: 1 }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/events-double, type: com.example.events.double, data: 2 }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/events-double, type: com.example.events.double, data: 3 }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ 1, 3 ]
    """
