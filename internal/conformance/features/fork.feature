Feature: Forks

  @T29 @1.7-fork
  Scenario: The output is a list in the order of declaration, whatever ends first
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: order, version: '1.0.0' }
    input: { from: .v }
    do:
      - split:
          input: { from: '{ n: . }' }
          fork:
            branches:
              - slow: { do: [ { pause: { wait: { milliseconds: 60 } } }, { a: { set: '${ [ "slow", . ] }' } } ] }
              - quick: { set: '${ [ "quick", . ] }' }
              - middle: { do: [ { pause2: { wait: { milliseconds: 20 } } }, { c: { set: '${ null }' } } ] }
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - [slow, { n: 1 }]
    - [quick, { n: 1 }]
    - null
    """
    And slow should run before quick
    And quick should run before middle
    And a should stand at '/do/0/split/fork/branches/0/slow/do/1/a'

  @T30 @1.7-fork
  Scenario: Competing branches give the winner's output, and the others are cancelled
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: compete, version: '1.0.0' }
    do:
      - split:
          fork:
            compete: true
            branches:
              - slow: { do: [ { pause: { wait: { days: 1 } } }, { never: { set: '${ "slow" }' } } ] }
              - calling: { run: { shell: { command: sleep 600 } } }
              - quick: { do: [ { short: { wait: { milliseconds: 20 } } }, { win: { set: { winner: quick } } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    winner: quick
    """
    And pause should cancel
    And slow should cancel
    And calling should cancel
    And never should not run

  @T30
  Scenario: A competing branch that faults loses, the first success wins
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: compete-fault, version: '1.0.0' }
    do:
      - split:
          fork:
            compete: true
            branches:
              - bad: { raise: { error: { type: 'https://example.com/bad', status: 400 } } }
              - good: { do: [ { short: { wait: { milliseconds: 20 } } }, { win: { set: { winner: good } } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    winner: good
    """
    And bad should fault

  @T86 @T30
  Scenario: When all competing branches fail, the error that came last counts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: compete-all-fail, version: '1.0.0' }
    do:
      - split:
          fork:
            compete: true
            branches:
              - late: { do: [ { wait1: { wait: { milliseconds: 40 } } }, { fail1: { raise: { error: { type: 'https://example.com/late', status: 500 } } } } ] }
              - early: { raise: { error: { type: 'https://example.com/early', status: 400 } } }
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://example.com/late
    status: 500
    instance: /do/0/split/fork/branches/0/late/do/1/fail1
    """

  @T30
  Scenario: The first fault of a branch cancels the others and faults the fork
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: fault, version: '1.0.0' }
    do:
      - guarded:
          try:
            - split:
                fork:
                  branches:
                    - slow: { do: [ { pause: { wait: { days: 1 } } }, { never: { set: '${ "slow" }' } } ] }
                    - bad: { do: [ { short: { wait: { milliseconds: 20 } } }, { fail: { raise: { error: { type: 'https://example.com/bad', status: 400 } } } } ] }
          catch:
            do: [ { handle: { set: '${ $error.instance }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /do/0/guarded/try/0/split/fork/branches/1/bad/do/1/fail
    """
    And pause should cancel
    And split should fault
    And never should not run

  @T31
  Scenario: Branches export into copies, and what changed is merged in order of declaration
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: export, version: '1.0.0' }
    do:
      - begin: { set: '${ {} }', export: { as: '{ kept: 1, both: 0, gone: 0 }' } }
      - split:
          fork:
            branches:
              - first:
                  do:
                    - pause: { wait: { milliseconds: 40 } }
                    - a: { set: '${ $context }', export: { as: '$context + { both: "first", a: 1 }' } }
              - second: { set: '${ {} }', export: { as: '$context + { both: "second", b: 2 } | del(.gone)' } }
              - third: { set: '${ {} }', export: { as: $context } }
      - after: { set: { seenByFirst: '${ .[0] }', context: '${ $context }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    seenByFirst: { kept: 1, both: 0, gone: 0 }
    context: { kept: 1, both: second, a: 1, b: 2 }
    """

  @T31 @T30
  Scenario: Only the winner of a competition exports
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: fork, name: export-compete, version: '1.0.0' }
    do:
      - split:
          fork:
            compete: true
            branches:
              - loser:
                  do:
                    - a: { set: '${ {} }', export: { as: '$context + { loser: true }' } }
                    - pause: { wait: { days: 1 } }
              - winner:
                  do:
                    - short: { wait: { milliseconds: 20 } }
                    - b: { set: '${ {} }', export: { as: '$context + { winner: true }' } }
      - after: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    winner: true
    """
    And a should complete
