Feature: Loops

  @1.7-for @1.6-scoped
  Scenario: Each iteration starts with the output of the one before
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: carry, version: '1.0.0' }
    input: { from: .v }
    do:
      - loop:
          input: { from: '[.]' }
          for: { in: '${ ["a", "b", "c"] }' }
          do:
            - first: { set: '${ . + ["\($index)\($item)"] }' }
            - second: { set: '${ . + [length] }' }
          output: { as: '{ result: ., input: $input }' }
    """
    And given the workflow input is:
    """yaml
    v: start
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    result: [start, 0a, 2, 1b, 4, 2c, 6]
    input: [start]
    """
    And first should run 3 times

  @T32 @1.7-for
  Scenario: The collection is evaluated once, on the loop's input
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: once, version: '1.0.0' }
    do:
      - loop:
          for: { in: .list }
          do:
            - grow: { set: { list: '${ .list + [$item] }' } }
    """
    And given the workflow input is:
    """yaml
    list: [1, 2]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    list: [1, 2, 1, 2]
    """
    And grow should run 2 times

  @T32
  Scenario: While is asked before each iteration, with item, index and the current data
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: while, version: '1.0.0' }
    do:
      - never:
          for: { in: '${ [1, 2] }', each: x, at: i }
          while: '$x > 1'
          do: [ { untouched: { set: '${ "wrong" }' } } ]
      - some:
          for: { in: '${ [1, 2, 3, 4] }', each: x, at: i }
          while: '.sum < 3 and $x < 4 and $i < 3'
          do: [ { add: { set: { sum: '${ .sum + $x }' } } } ]
    """
    And given the workflow input is:
    """yaml
    sum: 0
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    sum: 3
    """
    And untouched should not run
    And add should run 2 times

  @T32
  Scenario: Null and an empty list leave the input as it is
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: nothing, version: '1.0.0' }
    do:
      - none: { for: { in: .missing }, do: [ { a: { set: '${ "wrong" }' } } ] }
      - empty: { for: { in: '${ [] }' }, do: [ { b: { set: '${ "wrong" }' } } ] }
      - inline: { for: { in: [] }, do: [ { c: { set: '${ "wrong" }' } } ] }
    """
    And given the workflow input is:
    """yaml
    kept: true
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    kept: true
    """
    And a should not run
    And b should not run
    And c should not run

  @T32
  Scenario: An object is no collection
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: object, version: '1.0.0' }
    do:
      - loop: { for: { in: . }, do: [ { a: { set: '${ "wrong" }' } } ] }
    """
    And given the workflow input is:
    """yaml
    a: 1
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/loop
    detail: an object
    """
    And a should not run

  @T32
  Scenario: A text is no collection
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: scalar, version: '1.0.0' }
    do:
      - loop: { for: { in: .a }, do: [ { a: { set: '${ "wrong" }' } } ] }
    """
    And given the workflow input is:
    """yaml
    a: text
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/loop
    """

  @T32
  Scenario: A list in the definition may hold anything
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: inline, version: '1.0.0' }
    do:
      - loop:
          for: { in: [ { n: 1 }, 2, text, '${ .n }', .n ] }
          do: [ { add: { set: { n: '${ .n }', seen: '${ (.seen // []) + [$item] }' } } } ]
          output: { as: .seen }
    """
    And given the workflow input is:
    """yaml
    n: 9
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ n: 1 }, 2, text, 9, .n]
    """

  @1.7-for @1.10-uncaught @T2
  Scenario: An error in a loop ends it, and its pointer has no iteration
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: for, name: fault, version: '1.0.0' }
    do:
      - loop:
          for: { in: '${ [1, 2, 3] }' }
          do:
            - body: { if: '$item == 2', raise: { error: { type: 'https://example.com/two', status: 422, title: Two, detail: '${ "item \($item)" }' } } }
            - note: { set: '${ $item }' }
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://example.com/two
    status: 422
    title: Two
    detail: item 2
    instance: /do/0/loop/do/0/body
    """
    And note should run 1 time
    And loop should fault
