Feature: Data flow

  @1.4-order @1.2-input @1.2-output @1.3-input @1.3-output @1.3-export @T8 @T9
  Scenario: Schemas and transformations run in the order of the specification
    Each step changes the type of the data, so that a schema checked before or after its place refuses it.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: order, version: '1.0.0' }
    input:
      schema: { format: json, document: { type: object, required: [raw] } }
      from: .raw
    do:
      - first:
          input:
            schema: { format: json, document: { type: integer } }
            from: '{ n: . }'
          set: { seen: '${ . }', input: '${ $input }', task: '${ $task.input }' }
          output:
            as: '[., $input]'
            schema: { format: json, document: { type: array, minItems: 2 } }
          export:
            as: '{ exported: ., output: $output }'
            schema: { format: json, document: { type: object, required: [exported, output] } }
      - second:
          set: { given: '${ . }', context: '${ $context }' }
    output:
      as: '[.]'
      schema: { format: json, document: { type: array } }
    """
    And given the workflow input is:
    """yaml
    raw: 7
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - given:
        - { seen: { n: 7 }, input: { n: 7 }, task: 7 }
        - { n: 7 }
      context:
        exported:
          - { seen: { n: 7 }, input: { n: 7 }, task: 7 }
          - { n: 7 }
        output:
          - { seen: { n: 7 }, input: { n: 7 }, task: 7 }
          - { n: 7 }
    """
    And first should complete with output:
    """yaml
    [{ seen: { n: 7 }, input: { n: 7 }, task: 7 }, { n: 7 }]
    """

  @1.4-order
  Scenario: A jump carries the output of the task that jumped
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: jump, version: '1.0.0' }
    do:
      - one: { set: '${ [1] }', then: three }
      - two: { set: '${ . + [2] }', then: end }
      - three: { set: '${ . + [3] }', then: two }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [1, 3, 2]
    """

  @1.4-order @1.7-do
  Scenario: A composite task gives its transformed input to its first child and takes the output of its last
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: composite, version: '1.0.0' }
    input: { from: .v }
    do:
      - outer:
          input: { from: '{ from: . }' }
          do:
            - a: { set: '${ { a: . } }', output: { as: '{ as: . }' } }
            - b: { if: 'false', set: '${ "never" }' }
          output: { as: '[., $input]' }
    """
    And given the workflow input is:
    """yaml
    v: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ as: { a: { from: 5 } } }, { from: 5 }]
    """

  @1.3-if @T18
  Scenario: A skipped task checks, transforms and exports nothing, and does not jump
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: skipped, version: '1.0.0' }
    do:
      - skipped:
          if: .go
          input: { schema: { format: json, document: { type: string } }, from: '"input"' }
          set: { set: '${ "true" }' }
          output: { as: '"output"' }
          export: { as: '{ exported: true }' }
          then: end
      - next: { set: { data: '${ . }', context: '${ $context }' } }
    """
    And given the workflow input is:
    """yaml
    go: false
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    data: { go: false }
    context: {}
    """
    And skipped should not run

  @1.3-if @T13 @1.6-arguments
  Scenario: A condition sees the raw input, and only false and null are false
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: if-raw, version: '1.0.0' }
    do:
      - raw: { if: '. == { n: 0 }', input: { from: .n }, set: '${ { n: . } }', output: { as: '.n' } }
      - zero: { if: ., set: '${ "" }' }
      - text: { if: ., set: '${ [] }' }
      - list: { if: ., set: { was: list } }
      - none: { if: .missing, set: '${ "wrong" }' }
    """
    And given the workflow input is:
    """yaml
    n: 0
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    was: list
    """
    And zero should run 1 time
    And text should run 1 time
    And none should not run

  @1.3-export @T7 @T31
  Scenario: The context begins empty, and an export replaces it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: context, version: '1.0.0' }
    do:
      - start: { set: '${ [$context] }', export: { as: '$context + { a: 1 }' } }
      - more: { set: '${ . + [$context] }', export: { as: '$context + { b: 2 }' } }
      - replace: { set: '${ . + [$context] }', export: { as: '{ c: 3 }' } }
      - keep: { set: '${ . + [$context] }' }
    """
    And given the workflow input is:
    """yaml
    not: context
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{}, { a: 1 }, { a: 1, b: 2 }, { c: 3 }]
    """

  @T8
  Scenario: An export sees the transformed output, not the raw one and not the context
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: export-sees, version: '1.0.0' }
    do:
      - a: { set: { raw: 1 }, output: { as: '{ transformed: .raw }' }, export: { as: '{ dot: ., raw: $task.output }' } }
      - b: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    dot: { transformed: 1 }
    raw: { raw: 1 }
    """

  @T15 @1.3-output
  Scenario: In object forms of from and as only texts in the form of an expression are evaluated
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: object-forms, version: '1.0.0' }
    input: { from: { bare: .n, braces: '${ .n }' } }
    do:
      - a:
          input: { from: { bare: .bare, braces: '${ .braces }', deep: [ '${ .braces + 1 }', .braces ] } }
          set: '${ . }'
          output: { as: { set: '${ . }', bare: .bare } }
          export: { as: { e: '${ .bare }', bare: .bare } }
      - b: { set: '${ [., $context] }' }
    output: { as: { o: '${ . }', bare: . } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    o:
      - { set: { bare: .bare, braces: 1, deep: [2, .braces] }, bare: .bare }
      - { e: .bare, bare: .bare }
    bare: .
    """

  @T16
  Scenario: A start without input is one with an empty object
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: no-input, version: '1.0.0' }
    do:
      - a: { set: '${ [., $workflow.input] }' }
    """
    When the workflow is executed without input
    Then the workflow should complete with output:
    """yaml
    [{}, {}]
    """

  @1.7-set
  Scenario: Set replaces the output and evaluates nested texts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: set, version: '1.0.0' }
    do:
      - a: { set: { list: [ '${ .n }', plain, { deep: '${ .n + 1 }' } ], number: 1.5, yes: true, nothing: null } }
    """
    And given the workflow input is:
    """yaml
    { n: 1, dropped: true }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { list: [1, plain, { deep: 2 }], number: 1.5, yes: true, nothing: null }
    """

  @1.2-input
  Scenario: Input that the workflow's schema refuses is no execution
    The schema is checked before the transformation, which would make it fit.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: input-schema, version: '1.0.0' }
    input: { schema: { format: json, document: { type: object, required: [n] } }, from: '{ n: 1 }' }
    do:
      - a: { set: { x: 1 } }
    """
    Then a start should be refused with 'input_invalid' at '/input/n'

  @1.2-output @T71
  Scenario: Output that the workflow's schema refuses, after its transformation
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: output-schema, version: '1.0.0' }
    do:
      - a: { set: '${ "text" }' }
    output: { as: '[.]', schema: { format: json, document: { type: string } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /output/schema
    """
    And a should complete

  @1.3-input @1.10-types
  Scenario: A task's input schema is checked before its transformation
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: task-input-schema, version: '1.0.0' }
    do:
      - a:
          input: { schema: { format: json, document: { type: object, required: [n] } }, from: '{ n: 1 }' }
          set: { x: 1 }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/a
    """

  @1.3-output @1.10-types
  Scenario: A task's output schema is checked after its transformation
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: task-output-schema, version: '1.0.0' }
    do:
      - a:
          set: { x: 1 }
          output: { as: .x, schema: { format: json, document: { type: object } } }
          export: { as: '{ exported: true }' }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/a
    """

  @1.3-export @1.10-types
  Scenario: A refused context does not become the context
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: export-schema, version: '1.0.0' }
    do:
      - guarded:
          try:
            - a:
                set: { x: 1 }
                export: { as: .x, schema: { format: json, document: { type: object } } }
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/validation, status: 400, instance: /do/0/guarded/try/0/a } }
            do:
              - b: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    {}
    """
    And a should fault

  @1.3-schema @T53
  Scenario: The format of a schema may be left out
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: schema-format, version: '1.0.0' }
    do:
      - a: { input: { schema: { document: { type: object, properties: { n: { type: integer } } } } }, set: { x: 1 } }
    """
    And given the workflow input is:
    """yaml
    n: text
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/a
    detail: /n
    """

  @1.3-schema
  Scenario: A schema of an unknown format is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: schema-unknown, version: '1.0.0' }
    input: { schema: { format: 'avro', document: { type: record } } }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'not_supported' at '/input/schema/format'

  @1.3-metadata @1.2-descriptive
  Scenario: What only describes changes nothing, and can be read
    Given a workflow with definition:
    """yaml
    document:
      dsl: '1.0.3'
      namespace: data-flow
      name: metadata
      version: '1.0.0'
      title: A title
      summary: '*Markdown*'
      tags: { team: blue }
      metadata: { owner: { name: someone } }
    do:
      - a:
          metadata: { note: '${ 1 + 1 }' }
          set:
            title: '${ $workflow.definition.document.title }'
            team: '${ $workflow.definition.document.tags.team }'
            owner: '${ $workflow.definition.document.metadata.owner.name }'
            note: '${ $task.definition.metadata.note }'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    title: A title
    team: blue
    owner: someone
    note: '${ 1 + 1 }'
    """

  @T98 @1.3-schema
  Scenario: Formats are judged by their standards
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: formats, version: '1.0.0' }
    do:
      - a:
          set: '${ . }'
          output:
            schema:
              document:
                properties:
                  template: { format: uri-template }
                  host: { format: idn-hostname }
                  mail: { format: idn-email }
    """
    And given the workflow input is:
    """yaml
    template: 'https://example.com{/path*}{?q,page:2}'
    host: bücher.example
    mail: jörg@bücher.example
    """
    When the workflow is executed
    Then the workflow should complete

  @T98
  Scenario Outline: A text that is not of its format
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: no-<format>, version: '1.0.0' }
    do:
      - a: { set: { text: <text> }, output: { schema: { document: { properties: { text: { format: <format> } } } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    detail: '/text: is not a valid <name>'
    """

    Examples:
      | format       | text                 | name              |
      | uri-template | '{a:0}'              | URI template      |
      | idn-hostname | ☃.example            | host name         |
      | hostname     | a_b                  | host name         |
      | idn-email    | ü@-b                 | e-mail address    |
      | email        | ü@b                  | e-mail address    |
      | ipv4         | '+1.2.3.4'           | IPv4 address      |
      | date-time    | 2020-01-01T+1:02:03Z | date and time     |
      | duration     | P1Y2D                | ISO 8601 duration |
      | uri          | 'urn:[a]'            | URI               |

  @T98
  Scenario Outline: A pattern that RE2 does not have
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: data-flow, name: pattern, version: '1.0.0' }
    input: { schema: { document: { pattern: '<pattern>' } } }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'invalid_schema' at '/input/schema/document/pattern'

    Examples:
      | pattern      |
      | ^(?!draft-)  |
      | ^(.)\1       |
