Feature: Try and catch

  @1.9-filter
  Scenario Outline: A static filter compares all that it names
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: filter-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422, title: T, detail: D } } }
          catch:
            errors: { with: { <filter> } }
            do: [ { handle: { set: '${ "caught" }' } } ]
    """
    When the workflow is executed
    Then the workflow should <end>

    Examples:
      | name     | filter                                        | end      |
      | type     | type: 'https://example.com/e'                 | complete |
      | status   | status: 422                                   | complete |
      | instance | instance: /do/0/guarded/try/0/fail            | complete |
      | title    | title: T                                      | complete |
      | detail   | detail: D                                     | complete |
      | both     | status: 422, title: T                         | complete |
      | not-both | status: 422, title: U                         | fault    |
      | not-one  | status: 423                                   | fault    |
      | not-part | detail: d                                     | fault    |
      | not-at   | instance: /do/0/guarded                       | fault    |

  @1.9-as @1.6-scoped
  Scenario: The error has the name that the author gave it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: as, version: '1.0.0' }
    do:
      - outer:
          try:
            - inner:
                try:
                  - fail: { raise: { error: { type: 'https://example.com/first', status: 400 } } }
                catch:
                  as: problem
                  when: '$problem.status == 400'
                  do:
                    - again: { raise: { error: { type: 'https://example.com/second', status: 500, detail: '${ $problem.type }' } } }
          catch:
            do:
              - handle: { set: '${ [$error.type, $error.detail] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [https://example.com/second, https://example.com/first]
    """
    And again should stand at '/do/0/outer/try/0/inner/catch/do/0/again'

  @T23 @1.9-when
  Scenario: In conditions the dot is the error and $input is the input of the try
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: when-dot, version: '1.0.0' }
    do:
      - guarded:
          input: { from: '{ in: . }' }
          try:
            - change: { set: { changed: true } }
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422 } } }
          catch:
            when: '.status == 422 and $error.status == 422 and $input == { in: { n: 1 } }'
            exceptWhen: '.status != 422 or .in != null'
            do: [ { handle: { set: '${ [., $error.status] }' } } ]
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ in: { n: 1 } }, 422]
    """

  @1.9-when @1.10-uncaught
  Scenario Outline: Both conditions must allow, and the filter too
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: both-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422 } } }
          catch:
            errors: { with: { status: <status> } }
            when: <when>
            exceptWhen: <except>
            do: [ { handle: { set: '${ "caught" }' } } ]
    """
    When the workflow is executed
    Then the workflow should <end>

    Examples:
      | name   | status | when   | except  | end      |
      | all    | 422    | 'true' | 'false' | complete |
      | when   | 422    | .no    | 'false' | fault    |
      | except | 422    | 'true' | .type   | fault    |
      | filter | 423    | 'true' | 'false' | fault    |

  @T22
  Scenario: Caught without retry, handler and directive the error is swallowed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: swallow, version: '1.0.0' }
    input: { from: .v }
    do:
      - guarded:
          input: { from: '{ in: . }' }
          try:
            - change: { set: { changed: true } }
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422 } } }
          catch: { errors: { with: { status: 422 } } }
          output: { as: '{ out: . }' }
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    out: { in: 1 }
    """

  @1.9-do @1.9-then @T24
  Scenario: After the handler its directive counts before the task's own
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: then, version: '1.0.0' }
    input: { from: .v }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422 } } }
          catch:
            do: [ { handle: { set: '${ [., "handled"] }' } } ]
            then: onError
          then: onSuccess
          output: { as: '. + ["as"]' }
      - between: { set: wrong, then: end }
      - onSuccess: { set: wrong, then: end }
      - onError: { set: '${ . + ["onError"] }' }
    """
    And given the workflow input is:
    """yaml
    v: in
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [in, handled, as, onError]
    """
    And onSuccess should not run

  @T24 @1.9-then @1.7-try
  Scenario: The directive of the error path does not count when all went well
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: then-success, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fine: { set: { fine: true } }
          catch:
            do: [ { handle: { set: '${ "wrong" }' } } ]
            then: onError
          then: onSuccess
      - onError: { set: wrong, then: end }
      - onSuccess: { set: '${ . + { on: true } }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { fine: true, on: true }
    """
    And handle should not run
    And onError should not run

  @T78
  Scenario: A directive without a handler passes the input of the try on
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: then-alone, version: '1.0.0' }
    input: { from: .v }
    do:
      - guarded:
          input: { from: '{ in: . }' }
          try:
            - change: { set: { changed: true } }
            - fail: { raise: { error: { type: 'https://example.com/e', status: 422 } } }
          catch: { then: onError }
      - between: { set: wrong, then: end }
      - onError: { set: '${ [.] }' }
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ in: 1 }]
    """
    And between should not run

  @1.9-do
  Scenario: A handler gets the input of the try, and its own error is not caught again
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: try, name: handler-fails, version: '1.0.0' }
    do:
      - guarded:
          try:
            - change: { set: { changed: true } }
            - fail: { raise: { error: { type: 'https://example.com/first', status: 422 } } }
          catch:
            do:
              - handle: { raise: { error: { type: 'https://example.com/second', status: 500, detail: '${ tojson }' } } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://example.com/second
    status: 500
    detail: '{"n":1}'
    instance: /do/0/guarded/catch/do/0/handle
    """
    And handle should run 1 time
