Feature: Functions

  @1.8-custom @1.2-use @T37
  Scenario: A function of the document gets what with says, and shares the context
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: inline, version: '1.0.0' }
    use:
      functions:
        add:
          input: { schema: { format: json, document: { type: object, required: [a, b] } } }
          do:
            - sum: { set: { sum: '${ .a + .b }', raw: '${ $task.input }', seen: '${ $context }' }, export: { as: '$context + { inFunction: true }' } }
          output: { as: '. + { as: true }' }
    do:
      - begin: { set: { n: 1 }, export: { as: '{ caller: true }' } }
      - call: { call: add, with: { a: '${ .n }', b: 2, literal: .n }, output: { as: '. + { out: true }' } }
      - end2: { set: { result: '${ . }', context: '${ $context }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    result: { sum: 3, raw: { a: 1, b: 2, literal: .n }, seen: { caller: true }, as: true, out: true }
    context: { caller: true, inFunction: true }
    """

  @T37 @1.8-custom
  Scenario: Without with a function gets the caller's transformed input, and its then is ignored
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: no-with, version: '1.0.0' }
    use:
      functions:
        leaf: { set: '${ [.] }', then: end }
        inner: { do: [ { a: { set: '${ [., "a"] }', then: exit } }, { never: { set: '${ "wrong" }' } } ], then: exit }
    do:
      - one: { input: { from: .n }, call: leaf }
      - two: { call: inner }
      - three: { set: '${ . + ["three"] }' }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [[1], a, three]
    """
    And never should not run

  @T71 @1.8-custom @T2
  Scenario: The pointer of a task in a function is that of the function
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: pointers, version: '1.0.0' }
    use:
      functions:
        deep: { do: [ { fail: { raise: { error: { type: 'https://example.com/e', status: 400 } } } } ] }
        leaf: { raise: { error: { type: 'https://example.com/e', status: 400 } } }
    do:
      - first:
          try: [ { callDeep: { call: deep } } ]
          catch: { do: [ { h1: { set: { deep: '${ $error.instance }' } } } ] }
      - second:
          try: [ { callLeaf: { call: leaf } } ]
          catch: { do: [ { h2: { set: '${ . + { leaf: $error.instance } }' } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    deep: /use/functions/deep/do/0/fail
    leaf: /do/1/second/try/0/callLeaf
    """
    And fail should stand at '/use/functions/deep/do/0/fail'

  @1.8-custom @T37
  Scenario: Functions may call functions, and loop variables end at them
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: nested, version: '1.0.0' }
    use:
      functions:
        twice: { do: [ { a: { call: add, with: { n: '${ .n }' } } }, { b: { call: add } } ] }
        add: { set: { n: '${ .n + 1 }' } }
    do:
      - loop:
          for: { in: '${ [1, 2] }' }
          do: [ { call: { call: twice } } ]
    """
    And given the workflow input is:
    """yaml
    n: 0
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 4
    """

  @1.8-custom @T37 @T36
  Scenario: A function of the server's own catalog passes its input on
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: log, version: '1.0.0' }
    do:
      - begin: { set: { n: 1 }, export: { as: '{ mine: true }' } }
      - log: { call: 'log:1.0.0@default', with: { message: '${ "n is \(.n)" }' }, output: { as: '$context' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    mine: true
    """

  @T37 @T2 @1.8-custom
  Scenario: A function of a catalog has a context of its own, and its tasks stand for the caller
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: catalog, version: '1.0.0' }
    use:
      catalogs: { ours: { endpoint: https://things.example.com/catalog } }
    do:
      - begin: { set: { n: 1 }, export: { as: '{ caller: true }' } }
      - call: { call: 'peek:1.0.0@ours', with: { n: '${ .n }' } }
      - result: { set: { seen: '${ . }', context: '${ $context }' } }
      - guarded:
          try: [ { refuse: { call: 'peek:1.0.0@ours', with: { n: 0 } } } ]
          catch: { do: [ { handle: { set: '${ . + { instance: $error.instance, detail: $error.detail } }' } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    seen: { input: { n: 1 }, before: {}, after: { inside: true }, name: look }
    context: { caller: true }
    instance: /do/3/guarded/try/0/refuse
    detail: n is 0
    """

  @T37 @T10
  Scenario: A function from outside has no secrets
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: outside-secrets, version: '1.0.0' }
    use:
      secrets: [mine]
      catalogs: { ours: { endpoint: https://things.example.com/catalog } }
    do:
      - call: { call: 'spy:1.0.0@ours' }
    """
    Then the definition should be refused with 'unknown_secret' at '/do/0/call/call'

  @T36 @1.8-custom
  Scenario Outline: The levels of the function log
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: functions, name: level-<level>, version: '1.0.0' }
    do:
      - tell: { call: 'log:1.0.0@default', with: { message: hello, level: <level> } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    '[<shown>]: hello'
    """

    Examples:
      | level       | shown       |
      | warn        | WARNING     |
      | warning     | WARNING     |
      | info        | INFORMATION |
      | information | INFORMATION |
      | trace       | TRACE       |
      | critical    | CRITICAL    |
