Feature: Switches

  @1.7-switch
  Scenario: The first case that matches is taken, and the data stays
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: switch, name: first, version: '1.0.0' }
    do:
      - choose:
          input: { from: '. + { in: true }' }
          switch:
            - default: { then: wrong }
            - small: { when: .n < 1, then: wrong }
            - fits: { when: .n < 10, then: right }
            - alsoFits: { when: .n < 100, then: wrong }
      - wrong: { set: { wrong: true }, then: end }
      - right: { set: '${ . }' }
    """
    And given the workflow input is:
    """yaml
    n: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { n: 5, in: true }
    """
    And wrong should not run

  @1.7-switch
  Scenario: The default counts only when nothing matches, wherever it stands
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: switch, name: default, version: '1.0.0' }
    do:
      - choose:
          switch:
            - default: { then: right }
            - small: { when: .n < 1, then: wrong }
          then: wrong
      - wrong: { set: { wrong: true }, then: end }
      - right: { set: { default: true } }
    """
    And given the workflow input is:
    """yaml
    n: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    default: true
    """

  @T25
  Scenario: Without a match and a default the task's own then counts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: switch, name: own-then, version: '1.0.0' }
    do:
      - choose: { switch: [ { small: { when: .n < 1, then: wrong } } ], then: right }
      - wrong: { set: { wrong: true }, then: end }
      - right: { set: { own: true } }
      - last: { switch: [ { small: { when: .own == false, then: end } } ] }
      - after: { set: '${ . + { after: true } }' }
    """
    And given the workflow input is:
    """yaml
    n: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { own: true, after: true }
    """
    And wrong should not run

  @1.7-switch @1.5-exit
  Scenario: A case may end the list or the workflow
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: switch, name: directives, version: '1.0.0' }
    do:
      - list:
          do:
            - leave: { switch: [ { out: { when: 'true', then: exit } } ] }
            - a: { set: '${ "wrong" }' }
      - on: { switch: [ { on: { when: 'true', then: continue } } ], then: b }
      - c: { set: '${ . + { c: true } }' }
      - stop: { switch: [ { out: { when: .c, then: end } } ] }
      - b: { set: '${ "wrong" }' }
    """
    And given the workflow input is:
    """yaml
    n: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { n: 5, c: true }
    """
    And a should not run
    And b should not run
