Feature: Timeouts

  @1.3-timeout @T33 @1.10-types
  Scenario: A task that takes too long is interrupted, and its error can be caught
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: task, version: '1.0.0' }
    do:
      - guarded:
          try:
            - outer:
                timeout: { after: { milliseconds: 30 } }
                do:
                  - pause: { wait: { days: 1 } }
                  - never: { set: '${ "wrong" }' }
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout, status: 408 } }
            do: [ { handle: { set: '${ $error.instance }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /do/0/guarded/try/0/outer
    """
    And outer should fault
    And pause should cancel
    And never should not run

  @1.3-timeout
  Scenario: Calls and processes are interrupted too
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: calls, version: '1.0.0' }
    do:
      - both:
          fork:
            branches:
              - call: { do: [ { t1: { try: [ { get: { timeout: { after: { milliseconds: 30 } }, call: http, with: { method: get, endpoint: https://things.example.com/slow/600000/timeout } } } ], catch: { do: [ { h1: { set: '${ $error.status }' } } ] } } } ] }
              - shell: { do: [ { t2: { try: [ { run: { timeout: { after: { milliseconds: 30 } }, run: { shell: { command: sleep 600 } } } } ], catch: { do: [ { h2: { set: '${ $error.status }' } } ] } } } ] }
              - script: { do: [ { t3: { try: [ { js: { timeout: { after: { milliseconds: 30 } }, run: { script: { language: js, code: 'for (;;) {}' } } } } ], catch: { do: [ { h3: { set: '${ $error.status }' } } ] } } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [408, 408, 408]
    """

  @1.2-timeout @T71
  Scenario: A workflow that takes too long faults
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: workflow, version: '1.0.0' }
    timeout: { after: { milliseconds: 30 } }
    do:
      - guarded:
          try:
            - pause: { wait: { days: 1 } }
          catch: { do: [ { handle: { set: '${ "wrong" }' } } ] }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout
    status: 408
    instance: /timeout
    """
    And pause should cancel
    And handle should not run

  @1.2-use @1.2-timeout @1.3-timeout
  Scenario: Timeouts by name
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: named, version: '1.0.0' }
    use:
      timeouts:
        short: { after: { milliseconds: 30 } }
        long: { after: PT1H }
    timeout: long
    do:
      - guarded:
          try:
            - pause: { timeout: short, wait: { days: 1 } }
          catch: { do: [ { handle: { set: '${ $error.instance }' } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /do/0/guarded/try/0/pause
    """

  @T33
  Scenario: The time of a try counts its retries and their delays
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: retries, version: '1.0.0' }
    do:
      - guarded:
          timeout: { after: { milliseconds: 40 } }
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: PT1H }
            do: [ { handle: { set: '${ "wrong" }' } } ]
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout
    status: 408
    instance: /do/0/guarded
    """
    And fail should run 1 time
    And handle should not run

  @T33
  Scenario: The time of a loop counts all its iterations
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: loop, version: '1.0.0' }
    do:
      - loop:
          timeout: { after: { milliseconds: 50 } }
          for: { in: '${ [range(1000)] }' }
          do: [ { pause: { wait: { milliseconds: 20 } } } ]
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    status: 408
    instance: /do/0/loop
    """

  @T33
  Scenario: The innermost timeout that is over is the one at fault
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: nested, version: '1.0.0' }
    timeout: { after: PT2H }
    do:
      - outer:
          timeout: { after: PT1H }
          do:
            - inner: { timeout: { after: { milliseconds: 20 } }, wait: { days: 1 } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    status: 408
    instance: /do/0/outer/do/0/inner
    """

  @1.3-timeout
  Scenario: A timeout ends with its task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: in-time, version: '1.0.0' }
    do:
      - quick: { timeout: { after: { milliseconds: 50 } }, set: { quick: true } }
      - pause: { wait: { milliseconds: 90 } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    quick: true
    """

  @T72
  Scenario: The time is counted from the raw input
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: timeouts, name: dot, version: '1.0.0' }
    do:
      - pause:
          timeout: { after: '${ .limit }' }
          input: { from: '{ limit: "PT3H", pause: "PT2H" }' }
          wait: '${ .pause }'
    """
    And given the workflow input is:
    """yaml
    { limit: PT0.03S, pause: PT0S }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    status: 408
    instance: /do/0/pause
    """
