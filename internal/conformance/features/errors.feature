Feature: Errors

  @1.7-raise @1.10-uncaught @T34 @T2
  Scenario: An uncaught error faults its task, the tasks around it and the workflow
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: uncaught, version: '1.0.0' }
    do:
      - outer:
          do:
            - fine: { set: { who: me } }
            - fail:
                raise:
                  error:
                    type: https://example.com/errors/broken
                    status: 418
                    title: '${ "Broken by " + .who }'
                    detail: .who
                    instance: /made/up
            - never: { set: { x: 1 } }
      - after: { set: { x: 2 } }
    output: { as: '{ wrong: true }' }
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://example.com/errors/broken
    status: 418
    title: Broken by me
    detail: .who
    instance: /do/0/outer/do/1/fail
    """
    And fine should complete
    And fail should fault
    And outer should fault
    And never should not run
    And after should not run

  @T34 @1.7-raise @1.2-use @T2
  Scenario: An error by name, caught, has the pointer of the raise
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: by-name, version: '1.0.0' }
    use:
      errors:
        broken: { type: https://example.com/errors/broken, status: 409, detail: '${ "n is \(.n)" }', instance: /made/up }
    do:
      - guarded:
          try:
            - fail: { raise: { error: broken } }
          catch:
            do: [ { handle: { set: '${ $error }' } } ]
    """
    And given the workflow input is:
    """yaml
    n: 3
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    type: https://example.com/errors/broken
    status: 409
    detail: n is 3
    instance: /do/0/guarded/try/0/fail
    """
    And handle should stand at '/do/0/guarded/catch/do/0/handle'

  @T1 @1.9-filter
  Scenario Outline: Addresses of standard errors are compared by meaning
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: address-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: '<raised>', status: 500 } } }
          catch:
            errors: { with: { type: '<filter>' } }
            do: [ { handle: { set: '${ "caught" }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    caught
    """

    Examples:
      | name | raised                                                                     | filter                                                                     |
      | a    | https://open-workflow-specification.org/spec/1.0.0/errors/communication    | https://serverlessworkflow.io/spec/1.0.0/errors/communication              |
      | b    | https://open-workflow-specification.org/spec/1.0.0/errors/runtime          | https://open-workflow-specification.org/dsl/errors/types/runtime           |
      | c    | http://www.serverlessworkflow.io/dsl/errors/types/timeout                  | https://open-workflow-specification.org/spec/1.0.0/errors/timeout          |
      | d    | https://serverlessworkflow.io/errors/validation                            | http://open-workflow-specification.org/spec/1.0.0/errors/validation        |
      | e    | https://example.com/errors/communication                                   | https://example.com/errors/communication                                   |

  @T1 @1.9-filter
  Scenario Outline: All other addresses are compared as they are
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: other-address-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: '<raised>', status: 500 } } }
          catch:
            errors: { with: { type: '<filter>' } }
            do: [ { handle: { set: '${ "caught" }' } } ]
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: <raised>
    """
    And handle should not run

    Examples:
      | name | raised                                                             | filter                                                                   |
      | a    | https://open-workflow-specification.org/spec/1.0.0/errors/mine     | https://open-workflow-specification.org/dsl/errors/types/mine            |
      | b    | https://example.com/spec/1.0.0/errors/communication                | https://open-workflow-specification.org/spec/1.0.0/errors/communication  |
      | c    | https://open-workflow-specification.org/spec/1.0.0/errors/runtime  | https://open-workflow-specification.org/spec/1.0.0/errors/timeout        |
      | d    | https://example.com/Errors                                         | https://example.com/errors                                               |

  @1.10-types
  Scenario: The types and statuses of the standard errors
    Each branch makes one of the eight errors. Configuration is an endpoint that is no address.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: types, version: '1.0.0' }
    do:
      - all:
          fork:
            branches:
              - configuration: { do: [ { t: { try: [ { c: { call: http, with: { method: get, endpoint: '${ "no address" }' } } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
              - validation: { do: [ { t: { try: [ { c: { input: { schema: { format: json, document: { type: 'null' } } }, set: '${ 1 }' } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
              - expression: { do: [ { t: { try: [ { c: { set: '${ error("x") }' } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
              - timeout: { do: [ { t: { try: [ { c: { wait: { days: 1 }, timeout: { after: { milliseconds: 10 } } } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
              - communication: { do: [ { t: { try: [ { c: { call: http, with: { method: get, endpoint: https://things.example.com/status/503/types } } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
              - runtime: { do: [ { t: { try: [ { c: { run: { shell: { command: exit 3 } } } } ], catch: { do: [ { h: { set: '${ $error }' } } ] } } } ] }
          output: { as: 'map([(.type | ltrimstr("https://open-workflow-specification.org/spec/1.0.0/errors/")), .status, .instance])' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - [configuration, 400, /do/0/all/fork/branches/0/configuration/do/0/t/try/0/c]
    - [validation, 400, /do/0/all/fork/branches/1/validation/do/0/t/try/0/c]
    - [expression, 400, /do/0/all/fork/branches/2/expression/do/0/t/try/0/c]
    - [timeout, 408, /do/0/all/fork/branches/3/timeout/do/0/t/try/0/c]
    - [communication, 503, /do/0/all/fork/branches/4/communication/do/0/t/try/0/c]
    - [runtime, 500, /do/0/all/fork/branches/5/runtime/do/0/t/try/0/c]
    """

  @T91
  Scenario: A task that must not run twice runs at most once
    Only a crash can interrupt the call. Then the error is a runtime error, and no second request was made.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: interrupted, version: '1.0.0' }
    do:
      - guarded:
          try:
            - both:
                fork:
                  branches:
                    - once: { metadata: { onInterrupted: fault }, call: http, with: { method: post, endpoint: https://things.example.com/slow/150/once } }
                    - busy: { do: [ { a: { wait: { milliseconds: 10 } } }, { b: { wait: { milliseconds: 10 } } } ] }
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime, status: 500, instance: /do/0/guarded/try/0/both/fork/branches/0/once } }
      - done: { set: { done: true } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    done: true
    """
    And the world should have received at most 1 request for '/slow/150/once'

  @T91
  Scenario: A call that a crash interrupted is made again
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: again, version: '1.0.0' }
    do:
      - both:
          fork:
            branches:
              - call: { call: http, with: { method: get, endpoint: https://things.example.com/slow/60/again } }
              - busy: { do: [ { a: { wait: { milliseconds: 10 } } }, { b: { wait: { milliseconds: 10 } } }, { c: { set: '${ "busy" }' } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ waited: 60 }, busy]
    """
    And call should run 1 time

  @1.10-types @T2
  Scenario: An error says where in the text of the definition its task stands
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: errors, name: position, version: '1.0.0' }
    do:
      - outer:
          do:
            - first: { set: { x: 1 } }
            - fails: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    instance: /do/0/outer/do/1/fails
    line: 6
    column: 11
    """
