Feature: URI templates and durations

  @T42 @1.11-template
  Scenario: Values of a template are encoded, taken verbatim, and empty when they are missing
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: templates, name: values, version: '1.0.0' }
    do:
      - a:
          call: http
          with: { method: get, endpoint: 'https://things.example.com/echo/{text}/{missing}/{nothing}/{yes}?q={text}&d={a.b}&n={n}' }
          output: { as: '{ path, query }' }
    """
    And given the workflow input is:
    """yaml
    text: 'a/b c?&%é'
    nothing: null
    yes: true
    n: 1.5
    a: { b: wrong }
    'a.b': right
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    path: /echo/a/b c?&%é///true
    query: { q: 'a/b c?&%é', d: right, n: '1.5' }
    """

  @T42
  Scenario: A template has no arguments, and data that is no object gives empty text
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: templates, name: no-object, version: '1.0.0' }
    input: { from: .v }
    do:
      - a:
          call: http
          with: { method: get, endpoint: 'https://things.example.com/echo/{text}/end' }
          output: { as: .path }
    """
    And given the workflow input is:
    """yaml
    v: [text]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /echo//end
    """

  @T42 @1.11-template
  Scenario: The address that an expression gives is no template
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: templates, name: expression, version: '1.0.0' }
    do:
      - a:
          call: http
          with: { method: get, endpoint: '${ .to }' }
          output: { as: .path }
    """
    And given the workflow input is:
    """yaml
    { to: 'https://things.example.com/echo/{secret}', secret: wrong }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /echo/{secret}
    """

  @1.11-template
  Scenario: A value that is an object is an expression error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: templates, name: object, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: 'https://things.example.com/echo/{o}' } }
    """
    And given the workflow input is:
    """yaml
    o: { a: 1 }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/a
    """

  @1.11-duration @T72
  Scenario: All ways to write a duration
    A wait by expression sees the transformed input.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: durations, name: forms, version: '1.0.0' }
    do:
      - begin: { set: { at: '${ now }' } }
      - object: { wait: { days: 0, hours: 0, minutes: 0, seconds: 0, milliseconds: 20 } }
      - text: { wait: PT0.02S }
      - expression: { input: { from: '. + { pause: "PT0.02S" }' }, wait: '${ .pause }' }
      - done: { set: '${ (now - .at) * 1000 | round >= 60 }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    true
    """

  @T97 @T72
  Scenario Outline: An expression that yields no duration
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: durations, name: none-<name>, version: '1.0.0' }
    do:
      - a: <task>
    """
    And given the workflow input is:
    """yaml
    pause: 5 s
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/a
    detail: <detail>
    """

    Examples:
      | name    | task                                                              | detail                                            |
      | wait    | { wait: '${ .pause }', input: { from: '. + { pause: 5 }' } }      | yields 5; here . is the input of the task         |
      | timeout | { set: { x: 1 }, timeout: { after: '${ .pause }' } }              | here . is the raw input of the task |
      | retry   | { try: [ { t: { raise: { error: { type: 'https://example.com/e', status: 500 } } } } ], catch: { retry: { delay: '${ .nothing }' } } } | yields null; here . is the error |

  @1.11-duration
  Scenario Outline: How long a duration is
    A retry that would end after the limit is not begun, so two durations can be compared without waiting.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: durations, name: compare-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: <longer>, limit: { duration: <shorter> } }
            do: [ { handle: { set: { longer: true } } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    longer: true
    """

    Examples:
      | name     | longer                       | shorter                             |
      | day      | { days: 1 }                  | { hours: 23, minutes: 59 }          |
      | day-text | P1D                          | PT23H59M                            |
      | hour     | { hours: 1, milliseconds: 1 } | PT1H                               |
      | week     | P1W                          | { days: 6, hours: 23 }              |
      | decimal  | PT1.5M                       | { seconds: 89 }                     |

  @T52 @1.11-duration
  Scenario Outline: Years and months are counted by the calendar, in UTC
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: durations, name: calendar-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: <delay>, limit: { duration: '<limit>' } }
            do: [ { handle: { set: { longer: true } } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    longer: true
    """

    Examples:
      | name  | delay | limit  |
      | year  | P1Y   | P364D  |
      | month | P1M   | P27D   |
      | four  | P48M  | P1460D |

  @T52 @1.11-duration @1.10-types
  Scenario Outline: What is no ISO text is an expression error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: durations, name: no-text-<name>, version: '1.0.0' }
    do:
      - a: { wait: '${ .pause }' }
    """
    And given the workflow input is:
    """yaml
    pause: <value>
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/a
    """

    Examples:
      | name   | value          |
      | text   | tomorrow       |
      | number | 5              |
      | object | { seconds: 1 } |
