Feature: Human tasks

  @1.8-human
  Scenario: The answer of a person is the output
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: human, name: answer, version: '1.0.0' }
    do:
      - ask:
          call: human:1.0.0@default
          with:
            title: Approve the answer
            outcomes: [approve, reject]
            form: { type: object, required: [total], properties: { total: { type: number } } }
          output: { as: '{ outcome, data, comment }' }
    """
    When the workflow is started
    And the execution needs a person
    And an answer to the human task 'Approve the answer' is refused with 'answer_invalid':
    """yaml
    { outcome: approve, data: { total: much } }
    """
    And the human task 'Approve the answer' is answered:
    """yaml
    { outcome: approve, data: { total: 12.5 }, comment: fine }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    { outcome: approve, data: { total: 12.5 }, comment: fine }
    """
    And the human task 'Approve the answer' should be answered

  @1.8-human @1.8-human-withdrawn
  Scenario: The first answer wins, and the other task is withdrawn
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: human, name: race, version: '1.0.0' }
    do:
      - race:
          fork:
            compete: true
            branches:
              - one: { call: 'human:1.0.0@default', with: { title: One of two } }
              - two: { call: 'human:1.0.0@default', with: { title: Two of two } }
          output: { as: .outcome }
    """
    When the workflow is started
    And the human task 'Two of two' is answered:
    """yaml
    { outcome: done }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    done
    """
    And the human task 'One of two' should be withdrawn by 'lost_branch'

  @1.8-human-timeout
  Scenario: What is not answered in time is escalated
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: human, name: escalation, version: '1.0.0' }
    do:
      - approve:
          try:
            - ask: { call: 'human:1.0.0@default', with: { title: In time }, timeout: { after: { milliseconds: 300 } } }
          catch:
            errors: { with: { status: 408 } }
            do:
              - escalate: { call: 'human:1.0.0@default', with: { title: Too late }, output: { as: .outcome } }
    """
    When the workflow is started
    And the human task 'Too late' is answered:
    """yaml
    { outcome: done }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    done
    """
    And the human task 'In time' should be withdrawn by 'timeout'

  @1.8-human-again
  Scenario: What is sent back is asked again
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: human, name: back, version: '1.0.0' }
    do:
      - count: { set: { n: '${ ($context.n // 0) + 1 }' }, export: { as: '.' } }
      - ask: { call: 'human:1.0.0@default', with: { title: '${ "Round \(.n)" }', outcomes: ['yes', 'no'] } }
      - decide:
          switch:
            - again: { when: '.outcome == "no"', then: count }
            - done: { then: end }
    """
    When the workflow is started
    And the human task 'Round 1' is answered:
    """yaml
    { outcome: 'no' }
    """
    And the human task 'Round 2' is answered:
    """yaml
    { outcome: 'yes' }
    """
    And the workflow has ended
    Then the workflow should complete
    And ask should run 2 times
