Feature: Flow directives and scopes

  @T26 @1.5-exit
  Scenario: Exit ends an iteration, not the loop
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: exit-in-for, version: '1.0.0' }
    do:
      - loop:
          for: { in: '${ [1, 2, 3] }' }
          do:
            - decide: { switch: [ { two: { when: '$item == 2', then: exit } }, { other: { then: continue } } ] }
            - count: { set: '${ (. // []) + [$item] }', input: { from: 'if type == "array" then . else [] end' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [1, 3]
    """
    And decide should run 3 times
    And count should run 2 times

  @T27 @1.5-end
  Scenario: End finishes the workflow from any depth
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: end-in-nesting, version: '1.0.0' }
    do:
      - outer:
          do:
            - inner: { set: { found: true }, then: end }
            - never: { set: { found: false } }
          output: { as: '{ wrong: . }' }
      - after: { set: { found: false } }
    output: { as: '{ result: . }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    result: { found: true }
    """
    And never should not run
    And after should not run

  @T28
  Scenario: A jump to an unknown task is refused at deployment
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: jump, version: '1.0.0' }
    do:
      - first: { set: { x: 1 }, then: secnd }
      - second: { set: { x: 2 } }
    """
    Then the definition should be refused with 'unknown_target' at '/do/0/first/then'
