Feature: Schedules

  @1.2-schedule @1.12-every
  Scenario: Every starts runs without input
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: every, version: '1.0.0' }
    schedule: { every: { milliseconds: 150 } }
    do:
      - tick: { set: { input: '${ $workflow.input }' } }
    """
    Then another execution of the workflow ends with output:
    """yaml
    input: {}
    """

  @1.12-cron @T84
  Scenario: Cron takes six fields
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: cron, version: '1.0.0' }
    schedule: { cron: '* * * * * *' }
    do:
      - tick: { set: { ticked: true } }
    """
    Then another execution of the workflow ends with output:
    """yaml
    ticked: true
    """

  @1.12-cron
  Scenario: A cron expression that is none is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: cron-bad, version: '1.0.0' }
    schedule: { cron: '61 * * * *' }
    do:
      - tick: { set: { ticked: true } }
    """
    Then the definition should be refused with 'invalid_schedule' at '/schedule/cron'

  @1.12-after @T62
  Scenario: After runs first when it is published
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: after, version: '1.0.0' }
    schedule: { after: { days: 1 } }
    do:
      - tick: { set: { ticked: true } }
    """
    Then another execution of the workflow ends with output:
    """yaml
    ticked: true
    """

  @1.12-after @T62
  Scenario: After runs again when the last run has failed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: after-fault, version: '1.0.0' }
    schedule: { after: { milliseconds: 100 } }
    do:
      - ask: { call: http, with: { method: get, endpoint: 'https://things.example.com/flaky/1/after-fault' } }
    """
    Then another execution of the workflow ends with output:
    """yaml
    calls: 2
    """

  @T63
  Scenario: Several parts of a schedule are a union
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: union, version: '1.0.0' }
    schedule: { every: { days: 1 }, cron: '0 0 1 1 *', on: { one: { with: { type: com.example.union } } } }
    do:
      - route:
          switch:
            - scheduled: { when: '$workflow.input | type == "array"', then: handle }
            - started: { then: place }
      - place: { emit: { event: { with: { source: 'https://example.com', type: com.example.union, data: { id: 1 } } } }, then: end }
      - handle: { set: { ids: '${ $workflow.input | map(.id) }' } }
    """
    When the workflow is executed
    Then another execution of the workflow ends with output:
    """yaml
    ids: [1]
    """

  @1.12-on @1.12-read @T61
  Scenario: The input of a run is a list of the data of its events
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: on, version: '1.0.0' }
    schedule:
      on:
        all:
          - with: { type: com.example.order }
            correlate: { order: { from: .data.id } }
          - with: { type: com.example.payment }
            correlate: { order: { from: .data.id } }
    do:
      - route:
          switch:
            - scheduled: { when: '$workflow.input | type == "array"', then: handle }
            - started: { then: order }
      - order: { emit: { event: { with: { source: 'https://example.com', type: com.example.order, data: { id: 7, item: cup } } } } }
      - other: { emit: { event: { with: { source: 'https://example.com', type: com.example.payment, data: { id: 8, paid: true } } } } }
      - payment: { emit: { event: { with: { source: 'https://example.com', type: com.example.payment, data: { id: 7, paid: true } } } }, then: end }
      - handle: { set: { events: '${ $workflow.input }' } }
    """
    When the workflow is executed
    Then another execution of the workflow ends with output:
    """yaml
    events:
      - { id: 7, item: cup }
      - { id: 7, paid: true }
    """

  @1.12-read @T61
  Scenario: Read asks for envelopes
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: on-envelope, version: '1.0.0' }
    schedule: { read: envelope, on: { any: [ { with: { type: com.example.none } }, { with: { type: com.example.some } } ] } }
    do:
      - route:
          switch:
            - scheduled: { when: '$workflow.input | type == "array"', then: handle }
            - started: { then: place }
      - place: { emit: { event: { with: { source: 'https://example.com', type: com.example.some, data: { id: 1 } } } }, then: end }
      - handle: { set: '${ $workflow.input[0] | {type, source, data} }' }
    """
    When the workflow is executed
    Then another execution of the workflow ends with output:
    """yaml
    type: com.example.some
    source: https://example.com
    data: { id: 1 }
    """

  @T88
  Scenario: Drafts are not scheduled
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: draft, version: '1.0.0' }
    schedule: { every: { milliseconds: 150 } }
    do:
      - tick: { set: { draft: false } }
    """
    And a draft with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: draft, version: '2.0.0' }
    schedule: { after: { milliseconds: 100 } }
    do:
      - tick: { set: { draft: true } }
    """
    Then another execution of the workflow ends with output:
    """yaml
    draft: false
    """
    And no execution of the workflow should have ended with output:
    """yaml
    draft: true
    """

  @1.12-on
  Scenario: What is satisfied by no event at all is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: schedules, name: on-nothing, version: '1.0.0' }
    schedule: { on: { all: [] } }
    do:
      - tick: { set: { ticked: true } }
    """
    Then the definition should be refused with 'invalid_schedule' at '/schedule/on'
