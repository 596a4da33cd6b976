Feature: Expressions

  @T4 @1.6-strict
  Scenario: Expression slots take both forms, value slots need braces
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: slots, version: '1.0.0' }
    input: { from: '${ .data }' }
    do:
      - bareIf: { if: .yes, set: '${ . }' }
      - braceIf: { if: '${ .yes }', set: '${ . }' }
      - bareLoop: { for: { in: .list, each: x }, while: '$x < 3', do: [ { add: { set: '${ . + { n: (.n + $x) } }' } } ] }
      - braceLoop: { for: { in: '${ .list }', each: x }, while: '${ $x < 3 }', do: [ { add2: { set: '${ . + { n: (.n + $x) } }' } } ] }
      - bareSwitch: { switch: [ { hit: { when: .n == 6, then: braceSwitch } }, { other: { then: end } } ] }
      - braceSwitch: { switch: [ { hit: { when: '${ .n == 6 }', then: values } }, { other: { then: end } } ] }
      - values: { set: { bare: .n, braces: '${ .n }', spaces: '  ${ .n }  ' }, output: { as: '${ . }' }, export: { as: . } }
      - last: { set: '${ $context }', output: { as: . } }
    output: { as: '{ result: . }' }
    """
    And given the workflow input is:
    """yaml
    data: { yes: true, list: [1, 2, 3, 4], n: 0 }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    result: { bare: .n, braces: 6, spaces: 6 }
    """
    And add should run 2 times
    And add2 should run 2 times

  @T5
  Scenario: An expression in the middle of a text stays text
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: embedded, version: '1.0.0' }
    do:
      - a: { set: { mixed: 'n is ${ .n }', two: '${ .n } and ${ .n }', variable: 'echo ${VAR}' } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    mixed: n is ${ .n }
    two: ${ .n } and ${ .n }
    variable: echo ${VAR}
    """
    And the deployment should warn with 'embedded_expression' at '/do/0/a/set/mixed'

  @T6
  Scenario: Texts that only look like expressions are literal, and the task has no call and with
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: literals, version: '1.0.0' }
    do:
      - a:
          set:
            customer: .customer
            error: $error
            call: '${ $task.call }'
            with: '${ $task.with }'
            definition: '${ $task.definition.set.customer }'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { customer: .customer, error: $error, call: null, with: null, definition: .customer }
    """

  @1.6-loose @1.2-evaluate
  Scenario: In loose mode every text is tried as an expression and falls back to itself
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: loose, version: '1.0.0' }
    evaluate: { language: jq, mode: loose }
    do:
      - a: { set: { bare: .n, braces: '${ .n }', text: 'hello, world!', sum: .n + 1 } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { bare: 1, braces: 1, text: 'hello, world!', sum: 2 }
    """

  @1.2-evaluate
  Scenario: A language other than jq is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: language, version: '1.0.0' }
    evaluate: { language: javascript }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'not_supported' at '/evaluate/language'

  @1.6-error @1.10-types
  Scenario: A failing expression is an expression error of its task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: failing, version: '1.0.0' }
    do:
      - outer:
          do:
            - a: { set: { x: '${ .n + {} }' } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /do/0/outer/do/0/a
    detail: cannot add
    """

  @1.6-error @T71
  Scenario: A failing expression of the workflow itself
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: failing-output, version: '1.0.0' }
    do:
      - a: { set: { x: 1 } }
    output: { as: .x.y }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/expression
    status: 400
    instance: /output/as
    """

  @1.6-arguments @T11
  Scenario: Which arguments exist where
    Every slot lists which of the eight names are null there.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: arguments, version: '1.0.0' }
    use:
      authentications: { someone: { basic: { username: u, password: p } } }
    input: { from: '{ workflowIn: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] }' }
    do:
      - a:
          input: { from: '. + { taskIn: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] }' }
          call: http
          with:
            method: post
            endpoint: { uri: https://things.example.com/echo/arguments, authentication: { use: someone } }
            body: '${ . + { body: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] } }'
          output: { as: '.body + { as: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] }' }
          export: { as: '. + { export: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] }' }
      - b: { if: '[$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] == [true, false, false, true, true, true, false]', set: '${ $context }' }
    output: { as: '. + { workflowOut: [$context, $input, $output, $task, $workflow, $runtime, $authorization | . != null] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    workflowIn: [false, false, false, false, true, true, false]
    taskIn: [true, false, false, true, true, true, false]
    body: [true, true, false, true, true, true, true]
    as: [true, true, false, true, true, true, true]
    export: [true, true, true, true, true, true, true]
    workflowOut: [true, false, false, false, true, true, false]
    """

  @T11
  Scenario: A name outside of its slot is null, and the check says so
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: out-of-scope, version: '1.0.0' }
    do:
      - a: { if: '$output == null', set: { ran: true } }
    """
    When the workflow is executed
    Then the deployment should warn with 'variable_not_set' at '/do/0/a/if'
    And the workflow should complete with output:
    """yaml
    ran: true
    """

  @1.6-workflow @1.6-datetime
  Scenario: The fields of $workflow
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: workflow-fields, version: '1.2.3' }
    input: { from: .n }
    do:
      - a:
          set:
            keys: '${ $workflow | keys }'
            id: '${ $workflow.id | test("^[0-9a-f-]{36}$") }'
            version: '${ $workflow.definition.document.version }'
            input: '${ $workflow.input }'
            keysOfTime: '${ [($workflow.startedAt | keys), ($workflow.startedAt.epoch | keys)] }'
            whole: '${ $workflow.startedAt.epoch | .milliseconds / 1000 | floor }'
            seconds: '${ $workflow.startedAt.epoch.seconds }'
            iso: '${ $workflow.startedAt.iso8601[:19] + "Z" | fromdate }'
          output: { as: '. + { same: (.whole == .seconds and .iso == .seconds and .seconds > 1700000000) } | del(.whole, .seconds, .iso)' }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    keys: [definition, id, input, startedAt]
    id: true
    version: 1.2.3
    input: { n: 1 }
    keysOfTime: [[epoch, iso8601], [milliseconds, seconds]]
    same: true
    """

  @1.6-task @T2
  Scenario: The fields of $task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: task-fields, version: '1.0.0' }
    do:
      - outer:
          do:
            - 'a/b~c':
                input: { from: .n }
                set: { before: '${ $task.output }', input: '${ $task.input }', name: '${ $task.name }', reference: '${ $task.reference }' }
                output: { as: '. + { raw: ($task.output | keys), definition: ($task.definition | keys), started: ($task.startedAt.epoch.milliseconds >= $workflow.startedAt.epoch.milliseconds) }' }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    before: null
    input: { n: 1 }
    name: a/b~c
    reference: /do/0/outer/do/0/a~1b~0c
    raw: [before, input, name, reference]
    definition: [input, output, set]
    started: true
    """

  @1.6-runtime
  Scenario: The fields of $runtime
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: runtime-fields, version: '1.0.0' }
    do:
      - a: { set: { keys: '${ $runtime | keys }', name: '${ $runtime.name }', version: '${ $runtime.version | type }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { keys: [metadata, name, version], name: chargehand, version: string }
    """

  @1.6-authorization
  Scenario: The fields of $authorization
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: authorization, version: '1.0.0' }
    do:
      - basic:
          call: http
          with: { method: get, endpoint: { uri: https://things.example.com/basic/tom/s3cret-word, authentication: { basic: { username: tom, password: s3cret-word } } } }
          output: { as: '[$authorization]' }
          export: { as: . }
      - bearer:
          call: http
          with: { method: get, endpoint: { uri: https://things.example.com/bearer/a-token, authentication: { bearer: { token: a-token } } } }
          output: { as: '$context + [$authorization]' }
          export: { as: . }
      - none: { set: '${ $context + [$authorization] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { scheme: Basic, parameter: dG9tOnMzY3JldC13b3Jk }
    - { scheme: Bearer, parameter: a-token }
    - null
    """

  @1.6-scoped @T73 @T11
  Scenario: Loop variables are seen in the body and its own condition, and nowhere else
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: scoped, version: '1.0.0' }
    input: { from: .v }
    do:
      - outer:
          for: { in: '${ ["a", "b"] }', each: letter, at: place }
          while: '$letter != null and $place < 2'
          do:
            - inner:
                for: { in: '${ [7] }', each: letter }
                do:
                  - note: { set: '${ . + [[$letter, $place, $index]] }' }
            - after: { set: '${ . + [[$letter, $place]] }' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [[7, 0, 0], [a, 0], [7, 1, 0], [b, 1]]
    """

  @T73 @T11
  Scenario: A loop variable after its loop is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: scoped-after, version: '1.0.0' }
    do:
      - loop:
          for: { in: '${ [1] }', each: letter }
          do: [ { note: { set: '${ $letter }' } } ]
          output: { as: $letter }
      - after: { set: '${ $letter }' }
    """
    Then the definition should be refused with 'invalid_expression' at '/do/0/loop/output/as'
    And the definition should be refused with 'invalid_expression' at '/do/1/after/set'

  @1.6-data
  Scenario: Data is never evaluated
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: data, version: '1.0.0' }
    do:
      - sent:
          call: http
          with: { method: post, endpoint: 'https://things.example.com/echo/{text}', body: '${ . }' }
          output: { as: '{ body: .body, path: .path }' }
      - set: { set: { all: '${ . }', text: '${ .body.text }' } }
      - raised:
          try:
            - raise: { raise: { error: { type: 'https://example.com/e', status: 400, detail: '${ .text }' } } }
          catch:
            do:
              - keep: { set: '${ . + { detail: $error.detail } }' }
    """
    And given the workflow input is:
    """yaml
    text: ${ 1 + 1 }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    all: { body: { text: '${ 1 + 1 }' }, path: '/echo/${ 1 + 1 }' }
    text: ${ 1 + 1 }
    detail: ${ 1 + 1 }
    """

  @T12
  Scenario: No result is null, of several the first counts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: results, version: '1.0.0' }
    do:
      - a: { set: { none: '${ empty }', several: '${ .list[] }' } }
    """
    And given the workflow input is:
    """yaml
    list: [first, second]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { none: null, several: first }
    """
    And the deployment should warn with 'several_results' at '/do/0/a/set/several'

  @T13
  Scenario: Conditions follow the rule of jq
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: truth, version: '1.0.0' }
    input: { from: .v }
    do:
      - loop:
          for: { in: '${ [0, "", [], {}, "false", null, false] }' }
          do:
            - decide: { switch: [ { yes: { when: $item, then: yes } }, { no: { then: no } } ] }
            - yes: { set: '${ . + [true] }', then: exit }
            - no: { set: '${ . + [false] }' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [true, true, true, true, true, false, false]
    """

  @T14
  Scenario: now is the time of the event, the same in all tasks that one event drives
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: now, version: '1.0.0' }
    do:
      - a: { set: { now: '${ now }', text: '${ now | todate }', local: '${ now | gmtime | mktime }' } }
      - spend: { set: '${ . + { spent: ([range(20000)] | length) } }' }
      - b:
          set:
            same: '${ .now == now }'
            of: '${ .text == (.now | todate) and .local == .now }'
            start: '${ now >= $workflow.startedAt.epoch.seconds }'
            before: '${ .now }'
      - pause: { wait: { milliseconds: 20 } }
      - c: { set: '${ del(.before) + { later: ((now - .before) * 1000 | round >= 20) } }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { same: true, of: true, start: true, later: true }
    """

  @T14 @T76
  Scenario: Functions that reach outside are refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: outside, version: '1.0.0' }
    do:
      - a: { set: { a: '${ env.PATH }', b: '${ $ENV.PATH }', c: '${ input }', d: '${ inputs }', e: '${ debug }', f: '${ halt }', g: '${ stderr }' } }
    """
    Then the definition should be refused with 'invalid_expression' at '/do/0/a/set/a'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/b'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/c'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/d'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/e'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/f'
    And the definition should be refused with 'invalid_expression' at '/do/0/a/set/g'

  @T14
  Scenario: Single quotes are not rewritten
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: quotes, version: '1.0.0' }
    do:
      - a: { set: { a: "${ .n == 'x' }" } }
    """
    Then the definition should be refused with 'invalid_expression' at '/do/0/a/set/a'

  @T76
  Scenario: Expressions that would take too much are expression errors, which can be caught
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: bounds, version: '1.0.0' }
    input: { from: .v }
    do:
      - loop:
          for: { in: '${ ["steps", "array", "integer", "text", "depth"] }' }
          do:
            - guarded:
                try:
                  - choose:
                      switch:
                        - steps: { when: '$item == "steps"', then: steps }
                        - array: { when: '$item == "array"', then: array }
                        - integer: { when: '$item == "integer"', then: integer }
                        - text: { when: '$item == "text"', then: text }
                        - other: { then: depth }
                  - steps: { set: '${ reduce range(1000000000000) as $i (0; . + 1) }', then: exit }
                  - array: { set: '${ null | setpath([400000000]; 1) }', then: exit }
                  - integer: { set: '${ reduce range(20) as $i (9007199254740993; . * .) | tostring | length }', then: exit }
                  - text: { set: '${ "x" * 100000000 | length }', then: exit }
                  - depth: { set: '${ reduce range(1000) as $i (0; [.]) }', then: exit }
                catch:
                  errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/expression, status: 400 } }
                  do:
                    - note: { set: '${ $input + [$item] }' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [steps, array, integer, text, depth]
    """

  @1.6-runtime @T89
  Scenario: The fields of $runtime
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: runtime-fields, version: '1.0.0' }
    do:
      - a: { set: { keys: '${ $runtime | keys }', name: '${ $runtime.name }', version: '${ $runtime.version | type }', python: '${ $runtime.metadata.python | test("^3[.][0-9]+") }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { keys: [metadata, name, version], name: chargehand, version: string, python: true }
    """

  @T99 @T76
  Scenario: Functions of time cost what they take
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: expressions, name: times, version: '1.0.0' }
    do:
      - a: { set: '${ [range(100000) | todate] | [length, last] }' }
      - b: { set: '${ . + [[range(50000) | strftime("%Y-%m-%dT%H:%M:%SZ") | fromdate] | last] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 100000, '1970-01-02T03:46:39Z', 49999 ]
    """
