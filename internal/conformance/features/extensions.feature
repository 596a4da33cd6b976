Feature: Extensions

  @1.11-extensions @T35
  Scenario: Matching extensions nest in the order of the list
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: extensions, name: nesting, version: '1.0.0' }
    input: { from: .v }
    use:
      extensions:
        - outer:
            extend: set
            before: [ { outerBefore: { set: '${ "ignored" }', export: { as: '$context + { log: (($context.log // []) + ["outer before \($task.name) \($task.reference)"]) }' } } } ]
            after: [ { outerAfter: { set: '${ "ignored" }', export: { as: '$context + { log: ($context.log + ["outer after"]) }' } } } ]
        - not: { extend: set, when: '$task.name == "other"', before: [ { wrong: { set: { x: 1 } } } ] }
        - inner:
            extend: set
            when: '.n == 1 and $input.n == 1'
            before: [ { innerBefore: { set: { dot: '${ . }' }, export: { as: '$context + { log: ($context.log + ["inner before"]), before: .dot }' } } } ]
            after: [ { innerAfter: { set: { dot: '${ . }' }, export: { as: '$context + { log: ($context.log + ["inner after"]), after: .dot }' } } } ]
    do:
      - main:
          input: { from: '{ n: . }' }
          set: { raw: '${ . }' }
          output: { as: '{ transformed: . }' }
      - check: { switch: [ { go: { then: end } } ], output: { as: '{ data: ., context: $context }' } }
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    data: { transformed: { raw: { n: 1 } } }
    context:
      log: [outer before main /do/0/main, inner before, inner after, outer after]
      before: { n: 1 }
      after: { raw: { n: 1 } }
    """
    And wrong should not run
    And outerBefore should run 1 time
    And innerBefore should stand at '/use/extensions/2/inner/before/0/innerBefore'

  @T35
  Scenario: Exit before a task makes the current data its output, without the task and without any after
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: extensions, name: bypass, version: '1.0.0' }
    use:
      extensions:
        - outer: { extend: call, before: [ { b1: { set: { x: 1 } } } ], after: [ { a1: { set: { x: 1 } } } ] }
        - mock:
            extend: call
            when: '$task.definition.with.endpoint | startswith("https://things.example.com/echo/bypass")'
            before: [ { answer: { set: { mocked: true }, then: exit } }, { never: { set: { x: 1 } } } ]
            after: [ { a2: { set: { x: 1 } } } ]
        - third: { extend: call, before: [ { b3: { set: { x: 1 } } } ] }
    do:
      - call: { call: http, with: { method: get, endpoint: https://things.example.com/echo/bypass }, output: { as: '[.]' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ mocked: true }]
    """
    And b1 should run 1 time
    And never should not run
    And a1 should not run
    And a2 should not run
    And b3 should not run
    And the world should have received 0 requests for '/echo/bypass'

  @T35 @1.11-extensions
  Scenario: Composite is do and fork, and all is everything
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: extensions, name: kinds, version: '1.0.0' }
    use:
      extensions:
        - composite: { extend: composite, before: [ { c: { set: { x: 1 }, export: { as: '$context + { composite: (($context.composite // []) + [$task.name]) }' } } } ] }
        - all: { extend: all, before: [ { a: { set: { x: 1 }, export: { as: '$context + { all: (($context.all // []) + [$task.name]) }' } } } ] }
    do:
      - list: { do: [ { inside: { set: { x: 1 } } } ] }
      - split: { fork: { branches: [ { branch: { wait: PT0S } } ] } }
      - loop: { for: { in: '${ [1] }' }, do: [ { body: { wait: PT0S } } ] }
      - guarded: { try: [ { t: { wait: PT0S } } ], catch: {} }
      - choose: { switch: [ { go: { then: result } } ] }
      - result: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    composite: [list, split]
    all: [list, inside, split, branch, loop, body, guarded, t, choose, result]
    """

  @T35
  Scenario: A fault in an extension faults its task, inside of the try around it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: extensions, name: fault, version: '1.0.0' }
    use:
      extensions:
        - policy: { extend: wait, after: [ { refuse: { raise: { error: { type: 'https://example.com/refused', status: 403, detail: '${ $task.reference }' } } } } ] }
    do:
      - guarded:
          try: [ { pause: { wait: PT0S } } ]
          catch: { do: [ { handle: { set: { instance: '${ $error.instance }', detail: '${ $error.detail }' } } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    instance: /use/extensions/0/policy/after/0/refuse
    detail: /do/0/guarded/try/0/pause
    """
    And pause should fault

  @T35
  Scenario: A skipped task has no extensions
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: extensions, name: skipped, version: '1.0.0' }
    use:
      extensions:
        - log: { extend: all, before: [ { b: { set: { x: 1 } } } ], after: [ { a: { set: { x: 1 } } } ] }
    do:
      - skipped: { if: 'false', set: { x: 2 } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    {}
    """
    And a should not run
    And b should not run
