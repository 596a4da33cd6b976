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

  @T26 @1.5-exit @1.7-do
  Scenario: Exit ends its own list, and no other
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: exit-nested, version: '1.0.0' }
    input: { from: .v }
    do:
      - nested:
          do:
            - a: { set: '${ . + ["a"] }', then: exit }
            - b: { set: '${ . + ["b"] }' }
      - branches:
          fork:
            branches:
              - left: { do: [ { c: { set: '${ . + ["c"] }', then: exit } }, { d: { set: '${ . + ["d"] }' } } ] }
              - right: { set: '${ . + ["right"] }', then: exit }
          output: { as: 'flatten' }
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 400 } } }
          catch:
            do:
              - e: { set: '${ . + ["e"] }', then: exit }
              - f: { set: '${ . + ["f"] }' }
      - last: { set: '${ . + ["last"] }', then: exit }
      - never: { set: '${ . + ["never"] }' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [a, c, a, right, e, last]
    """
    And b should not run
    And d should not run
    And f should not run
    And never should not run

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

  @T27 @1.5-end @1.5-phases
  Scenario: End in a branch cancels the other branches
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: end-in-branch, version: '1.0.0' }
    do:
      - split:
          fork:
            branches:
              - slow: { do: [ { pause: { wait: { days: 1 } } }, { never: { set: '${ "slow" }' } } ] }
              - quick: { do: [ { answer: { set: quick, output: { as: '{ was: . }' }, then: end } } ] }
          export: { as: '{ wrong: true }' }
    output: { as: '{ result: ., context: $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { result: { was: quick }, context: {} }
    """
    And pause should cancel
    And slow should cancel
    And never should not run

  @T27 @1.5-end
  Scenario: End in a handler and in a loop
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: end-in-handler, version: '1.0.0' }
    do:
      - loop:
          for: { in: '${ [1, 2] }' }
          do:
            - guarded:
                try:
                  - fail: { raise: { error: { type: 'https://example.com/e', status: 400 } } }
                catch:
                  do:
                    - stop: { set: '${ { item: $item } }', then: end }
      - never: { set: { never: true } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    item: 1
    """
    And stop should run 1 time

  @1.5-continue @1.3-then
  Scenario: Continue is the next task, also when it is written
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: continue, version: '1.0.0' }
    do:
      - nested:
          do:
            - a: { set: '${ ["a"] }', then: continue }
            - b: { set: '${ . + ["b"] }', then: continue }
          then: continue
      - c: { set: '${ . + ["c"] }', then: continue }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [a, b, c]
    """
    And b should run after a
    And c should run last

  @1.5-jump @1.3-then
  Scenario: Jumps go forwards and backwards in one list, and make loops
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: jumps, version: '1.0.0' }
    do:
      - begin: { set: { n: 0 }, then: check }
      - add: { set: { n: '${ .n + 1 }' } }
      - check: { switch: [ { more: { when: .n < 3, then: add } }, { enough: { then: done } } ] }
      - skipped: { set: { n: -1 } }
      - done: { set: '${ . + { done: true } }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { n: 3, done: true }
    """
    And add should run 3 times
    And check should run 4 times
    And skipped should not run

  @1.5-jump @T28
  Scenario: Lists of different depth may use the same name, and a jump means its own list
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: same-names, version: '1.0.0' }
    do:
      - begin:
          do:
            - begin: { set: '${ ["inner"] }', then: end2 }
            - skipped: { set: '${ ["skipped"] }' }
            - end2: { set: '${ . + ["end2 inside"] }' }
          then: end2
      - middle: { set: '${ ["middle"] }' }
      - end2: { set: '${ . + ["end2 outside"] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [inner, end2 inside, end2 outside]
    """
    And end2 should run 2 times

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

  @1.5-phases @1.7-wait
  Scenario: Phases of a workflow and its tasks
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: phases, version: '1.0.0' }
    do:
      - done: { set: { x: 1 } }
      - guarded:
          try:
            - failed: { raise: { error: { type: 'https://example.com/e', status: 400 } } }
          catch: {}
      - pause: { wait: { days: 1 } }
      - never: { set: { x: 2 } }
    """
    When the workflow is started
    And the workflow is waiting
    And the execution is cancelled
    And the workflow has ended
    Then the workflow should cancel
    And done should complete
    And failed should fault
    And guarded should complete
    And pause should cancel
    And never should not run

  @1.5-suspend @1.5-phases
  Scenario: What comes while an execution is suspended takes effect when it is resumed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: suspend, version: '1.0.0' }
    do:
      - both:
          fork:
            branches:
              - heard: { listen: { to: { one: { with: { type: com.example.flow.heard } } } } }
              - late: { wait: { milliseconds: 50 } }
      - told: { set: { heard: '${ .[0] }' } }
    """
    When the workflow is started
    And heard has run 1 time
    And the workflow is waiting
    And the execution is suspended
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /flow, type: com.example.flow.heard, data: { n: 1 } }
    """
    And the clock has moved on
    And the execution is suspended
    And the execution is resumed
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    heard: [ { n: 1 } ]
    """

  @1.5-retry-from @1.5-phases
  Scenario: A retry from a task begins with what the task had, and runs nothing before it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: retry-from, version: '1.0.0' }
    input: { from: '{ order: .order, seen: ((.seen // 0) + 1) }' }
    do:
      - reserve: { set: { number: '${ .order }', seen: '${ .seen }' }, export: { as: '{ reserved: $output.number }' } }
      - pay:
          input: { from: '{ asked: .number, seen: .seen, reserved: $context.reserved }' }
          do:
            - answer:
                listen: { to: { one: { with: { type: com.example.flow.paid } } } }
                output: { as: '{ paid: .[0].paid }' }
            - refuse: { if: '.paid | not', raise: { error: { type: 'https://example.com/refused', status: 402 } } }
          output: { as: '. + $input' }
          export: { as: '$context + { paid: $output.paid }' }
      - thank: { set: '${ . + { context: $context, order: $workflow.input.order } }' }
    """
    And given the workflow input is:
    """yaml
    order: 7
    """
    When the workflow is started
    And answer has run 1 time
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /retry-from, type: com.example.flow.paid, data: { paid: false } }
    """
    And the workflow has ended
    Then the workflow should fault with an error like:
    """yaml
    type: https://example.com/refused
    instance: /do/1/pay/do/1/refuse
    """
    When the execution is retried from '/do/1/pay'
    And answer has run 1 time
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /retry-from, type: com.example.flow.paid, data: { paid: true } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    { paid: true, asked: 7, seen: 1, reserved: 7, context: { reserved: 7, paid: true }, order: 7 }
    """
    And reserve should not run
    And pay should run first
    And answer should run 1 time
    And thank should run last

  @1.7-wait
  Scenario: A wait passes its transformed input on, after its time
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: wait, version: '1.0.0' }
    do:
      - before: { set: { at: '${ now }' } }
      - pause: { input: { from: '. + { in: true }' }, wait: { milliseconds: 30 }, output: { as: '. + { out: true }' } }
      - after: { set: { in: '${ .in }', out: '${ .out }', waited: '${ (now - .at) * 1000 | round >= 30 }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { in: true, out: true, waited: true }
    """

  @T3 @1.7-emit
  Scenario: The output of emit is the event, with what the runtime fills in
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: flow, name: emit, version: '1.2.3' }
    do:
      - bare: { emit: { event: { with: { type: org.example.bare.v1 } } }, export: { as: '{ bare: . }' } }
      - full:
          emit:
            event:
              with:
                id: given
                source: https://example.com/source
                type: '${ "org.example." + .type }'
                time: '2026-01-02T03:04:05Z'
                subject: one
                extra: '${ 1 + 1 }'
                data: { n: '${ .type }', literal: .n }
      - check:
          set:
            full: '${ . }'
            keys: '${ $context.bare | keys }'
            source: '${ $context.bare.source }'
            specversion: '${ $context.bare.specversion }'
            id: '${ $context.bare.id | length > 0 }'
            time: '${ $context.bare.time | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T") }'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    full:
      id: given
      source: https://example.com/source
      specversion: '1.0'
      type: org.example.org.example.bare.v1
      time: '2026-01-02T03:04:05Z'
      subject: one
      extra: 2
      data: { n: org.example.bare.v1, literal: .n }
    keys: [id, source, specversion, time, type]
    source: /flow/emit/1.2.3
    specversion: '1.0'
    id: true
    time: true
    """

  @T90
  Scenario: Definitions may be nested deeply
    Given a workflow with 256 tasks inside of each other
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    depth: 256
    """

  @T90
  Scenario: Definitions that are nested too deeply are refused
    Given a definition with 257 tasks inside of each other that is refused
    Then the definition should be refused with 'definition_too_deep'
