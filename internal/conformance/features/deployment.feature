Feature: Deployment

  A definition that is wrong is refused when it is applied, with the position of each mistake.
  The external resources that it names are fetched then.

  @1.2-identity @T28
  Scenario: A document that does not say what it is
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: -deployment, name: 'a.b', vendor: x }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'required_property' at '/document'
    And the definition should be refused with 'invalid_value' at '/document/namespace'
    And the definition should be refused with 'invalid_value' at '/document/name'
    And the definition should be refused with 'unknown_property' at '/document/vendor'

  @1.2-descriptive
  Scenario: Descriptions change nothing
    Given a workflow with definition:
    """yaml
    document:
      dsl: '1.0.3'
      namespace: deployment
      name: descriptive
      version: '1.0.0'
      title: A title
      summary: Some *Markdown*.
      tags: { team: blue }
      metadata: { vendor: { anything: [1, 2] } }
    do:
      - a: { set: { title: '${ $workflow.definition.document.title }' } }
    """
    Then the deployment should not warn
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    title: A title
    """

  @1.2-unknown
  Scenario: An unknown key at the top is warned about
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: unknown-top, version: '1.0.0' }
    vendor: { x: 1 }
    do:
      - a: { set: { x: 1 } }
    """
    Then the deployment should warn with 'unknown_property' at '/vendor'

  @1.2-identity
  @T96
  Scenario: Another patch of the language is warned about
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.0-alpha5', namespace: deployment, name: earlier, version: '1.0.0' }
    do:
      - a: { set: { x: 1 } }
    """
    Then the deployment should warn with 'other_dsl_version' at '/document/dsl'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    x: 1
    """

  @T96 @1.2-identity
  Scenario: Another minor version of the language is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.1.0', namespace: deployment, name: later, version: '1.0.0' }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'unsupported_dsl_version' at '/document/dsl'

  @1.2-evaluate @1.6-loose
  Scenario: Another expression language is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: javascript, version: '1.0.0' }
    evaluate: { language: js }
    do:
      - a: { set: { x: 1 } }
    """
    Then the definition should be refused with 'not_supported' at '/evaluate/language'

  @1.2-evaluate @1.6-loose
  Scenario: In loose mode a text is tried as an expression
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: loose, version: '1.0.0' }
    evaluate: { mode: loose }
    do:
      - a: { set: { n: .n, plain: 'Hello, world' } }
    """
    And given the workflow input is:
    """yaml
    n: 7
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 7
    plain: Hello, world
    """

  Scenario: All problems are reported at once
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: everything, version: '1.0.0' }
    do:
      - a: { set: { x: 1 }, surplus: true }
      - b: { set: { x: '${ ] }' } }
      - c: { call: nothing }
      - d: { set: { x: 1 }, then: nowhere }
      - e: { call: 'https://things.example.com/status/404/function.yaml' }
    """
    Then the definition should be refused with 'unknown_property' at '/do/0/a/surplus'
    And the definition should be refused with 'invalid_expression' at '/do/1/b/set/x'
    And the definition should be refused with 'unknown_target' at '/do/3/d/then'
    And the definition should be refused with 'resource_missing' at '/do/4/e/call'

  @T28
  Scenario: Names of tasks
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: names, version: '1.0.0' }
    do:
      - a: { set: { x: 1 } }
      - a: { set: { x: 1 } }
      - b: { set: { x: 1 } }
      - s: { switch: [ { one: { then: a } }, { two: { then: a } } ] }
      - inner: { do: [ { b: { set: { x: 1 }, then: s } } ] }
    """
    Then the definition should be refused with 'duplicate_name' at '/do/1/a'
    And the definition should be refused with 'more_than_one_default' at '/do/3/s/switch/1/two'
    And the definition should be refused with 'unknown_target' at '/do/4/inner/do/0/b/then'

  @T94 @T28
  Scenario: A task that is called as a directive
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: shadowed, version: '1.0.0' }
    do:
      - a: { set: { n: [ a ] }, then: exit }
      - exit: { set: { n: [ wrong ] } }
    """
    Then the deployment should warn with 'shadowed_name' at '/do/1/exit'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: [ a ]
    """

  @T92
  Scenario: Texts that look like jq stay texts, with a warning each
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: literal, version: '1.0.0' }
    do:
      - a:
          input: { from: { v: .value } }
          set: { path: '.a.b[0]', list: [ $context.x, '.a + 1' ], text: .5 kg, file: ./notes.txt }
          output: { as: { path: $input.v, own: '.own | length', more: '${ .list }' } }
    """
    Then the deployment should warn with 'literal_text' at '/do/0/a/input/from/v'
    And the deployment should warn with 'literal_text' at '/do/0/a/set/path'
    And the deployment should warn with 'literal_text' at '/do/0/a/set/list/0'
    And the deployment should warn with 'literal_text' at '/do/0/a/set/list/1'
    And the deployment should warn with 'literal_text' at '/do/0/a/output/as/path'
    And the deployment should warn with 'literal_text' at '/do/0/a/output/as/own'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    path: $input.v
    own: .own | length
    more: [ $context.x, .a + 1 ]
    """

  @T93
  Scenario: A type of error that no standard error has
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: error-type, version: '1.0.0' }
    do:
      - a:
          try: [ { t: { raise: { error: { type: errors/timeout, status: 408 } } } } ]
          catch: { errors: { with: { type: errors/timeout } } }
      - b:
          try: [ { t: { set: { x: 1 } } } ]
          catch: { errors: { with: { type: TimeoutError } } }
    """
    Then the deployment should warn with 'unmatchable_error_type' at '/do/1/b/catch/errors/with/type'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    x: 1
    """

  @T95
  Scenario: A property of a backoff that means nothing
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: backoff, version: '1.0.0' }
    do:
      - a:
          try: [ { t: { set: { x: 1 } } } ]
          catch: { retry: { backoff: { exponential: { factor: 2 } }, limit: { attempt: { count: 1 } } } }
    """
    Then the deployment should warn with 'unused_property' at '/do/0/a/catch/retry/backoff/exponential/factor'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    x: 1
    """

  @T95
  Scenario: Unknown keys where only the schema is open
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: open, version: '1.0.0' }
    do:
      - a: { try: [ { t: { set: { x: 1 } } } ], catch: { errors: { status: 503 } } }
      - b: { emit: { event: { type: org.example } } }
    """
    Then the definition should be refused with 'unknown_property' at '/do/0/a/catch/errors/status'
    And the definition should be refused with 'unknown_property' at '/do/1/b/emit/event/type'

  @T28
  Scenario: A task that is never reached
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: unreachable, version: '1.0.0' }
    do:
      - a: { set: { x: 1 }, then: end }
      - b: { set: { x: 2 } }
    """
    Then the deployment should warn with 'unreachable_task' at '/do/1/b'

  @T45
  Scenario: Snippets that prose shows and the schema forbids
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: prose, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, uri: https://things.example.com/echo } }
      - b: { try: { call: http, with: { method: get, endpoint: https://things.example.com/echo } }, catch: {} }
    """
    Then the definition should be refused with 'unknown_property' at '/do/0/a/with/uri'
    And the definition should be refused with 'wrong_type' at '/do/1/b/try'

  @T74 @1.2-use
  Scenario: Names that nothing has
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: unknown-names, version: '1.0.0' }
    use:
      timeouts: { short: { after: PT1S } }
    do:
      - a: { set: { x: 1 }, timeout: shrot }
      - b: { raise: { error: missing } }
      - c: { try: [ { t: { set: { x: 1 } } } ], catch: { retry: never } }
      - d: { call: http, with: { method: get, endpoint: { uri: https://things.example.com/echo, authentication: { use: nobody } } } }
      - e: { call: 'f:1.0.0@elsewhere' }
      - f: { call: htp }
    """
    Then the definition should be refused with 'unknown_name' at '/do/0/a/timeout'
    And the definition should be refused with 'unknown_name' at '/do/1/b/raise/error'
    And the definition should be refused with 'unknown_name' at '/do/2/c/catch/retry'
    And the definition should be refused with 'unknown_name' at '/do/3/d/with/endpoint/authentication/use'
    And the definition should be refused with 'unknown_name' at '/do/4/e/call'
    And the definition should be refused with 'unknown_function' at '/do/5/f/call'

  @T74
  Scenario: A name that is nearly right
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: nearly, version: '1.0.0' }
    use:
      timeouts: { short: { after: PT1S } }
    do:
      - a: { set: { x: 1 }, timeout: shrot }
    """
    Then the definition should be refused with 'unknown_name' at '/do/0/a/timeout'
    And the refusal should say 'Did you mean "short"?'

  @T80
  Scenario: A language that the installation does not run
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: ruby, version: '1.0.0' }
    do:
      - a: { run: { script: { language: ruby, code: 'puts 1' } } }
    """
    Then the definition should be refused with 'run_not_allowed' at '/do/0/a/run/script'

  @T5
  Scenario: An expression in the middle of a text stays text
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: middle, version: '1.0.0' }
    do:
      - a: { set: { text: 'Hello, ${ .name }!' } }
    """
    Then the deployment should warn with 'embedded_expression' at '/do/0/a/set/text'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    text: 'Hello, ${ .name }!'
    """

  @T11
  Scenario: A variable outside of its slot is null, and warned about
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: outside, version: '1.0.0' }
    do:
      - a: { if: '$output == null', set: { ran: true } }
    """
    Then the deployment should warn with 'variable_not_set' at '/do/0/a/if'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ran: true
    """

  @T11
  Scenario: A variable that exists nowhere is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: nowhere, version: '1.0.0' }
    do:
      - a: { set: { x: '${ $secret.token }' } }
    """
    Then the definition should be refused with 'invalid_expression' at '/do/0/a/set/x'

  @T12
  Scenario: Nothing is null, and of several results the first counts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: results, version: '1.0.0' }
    do:
      - a: { set: { none: '${ empty }', several: '${ 1, 2, 3 }' } }
    """
    Then the deployment should warn with 'several_results' at '/do/0/a/set/several'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    none: null
    several: 1
    """

  @T13
  Scenario: Only false and null are false
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: truth, version: '1.0.0' }
    do:
      - zero: { if: .zero, set: { zero: ran, text: '', nothing: null } }
      - text: { if: .text, set: { text: ran, nothing: null } }
      - nothing: { if: .nothing, set: { nothing: ran } }
    """
    And given the workflow input is:
    """yaml
    zero: 0
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    text: ran
    nothing: null
    """

  @T13
  Scenario: A condition that does not depend on anything
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: constant, version: '1.0.0' }
    do:
      - a: { if: '"false"', set: { x: 1 } }
    """
    Then the deployment should warn with 'constant_condition' at '/do/0/a/if'

  @T17
  Scenario: Texts of YAML 1.1 stay texts
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: pitfalls, version: '1.0.0' }
    do:
      - a: { set: { on: on, no: no, date: 2024-02-30, octal: 0o17, big: 12345678901234567890, time: 12:30:45 } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    'on': 'on'
    'no': 'no'
    date: '2024-02-30'
    octal: 15
    big: 12345678901234567890
    time: '12:30:45'
    """

  @T17
  Scenario: A key that occurs twice is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: twice, version: '1.0.0' }
    do:
      - a: { set: { x: 1, x: 2 } }
    """
    Then the definition should be refused with 'duplicate_key' at '/do/0/a/set/x'

  @T87
  Scenario: The same version with other content is another revision
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: again, version: '1.0.0' }
    do:
      - a: { set: { content: first } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: again, version: '1.0.0' }
    do:
      - a: { set: { content: second } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    content: second
    """

  @T69 @1.11-resource @1.3-schema @1.2-input
  Scenario: A schema by its address
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: schema, version: '1.0.0' }
    input: { schema: { resource: { endpoint: https://things.example.com/resources/order.schema.json } } }
    do:
      - a: { set: { quantity: 0 } }
      - b: { set: { ran: true }, input: { schema: { resource: { endpoint: https://things.example.com/resources/order.schema.json } } } }
    """
    And given the workflow input is:
    """yaml
    quantity: 1
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/1/b
    """

  @T69 @1.11-resource @1.3-schema
  Scenario: A schema in a file below the root
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: file, version: '1.0.0' }
    do:
      - a: { set: { n: 11 }, output: { schema: { resource: { endpoint: limit.schema.yaml } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/a
    """

  @T69 @1.11-resource
  Scenario: A file elsewhere is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: outside-root, version: '1.0.0' }
    do:
      - a: { set: { n: 11 }, output: { schema: { resource: { endpoint: '../standin_test.go' } } } }
      - b: { run: { script: { language: js, source: { endpoint: 'file:///etc/passwd' } } } }
    """
    Then the definition should be refused with 'resource_missing' at '/do/0/a/output/schema/resource/endpoint'
    And the definition should be refused with 'resource_missing' at '/do/1/b/run/script/source/endpoint'

  @T69 @1.11-resource @1.7-run-script
  Scenario: A script by its address
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: script, version: '1.0.0' }
    do:
      - a:
          run:
            script:
              language: js
              source: { endpoint: https://things.example.com/resources/double.js }
              arguments: { number: '${ .n }' }
    """
    And given the workflow input is:
    """yaml
    n: 21
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    doubled: 42
    """

  @T36 @T69 @1.8-custom
  Scenario: A function by its address, which calls another one
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: function, version: '1.0.0' }
    do:
      - remember: { set: { name: Ann }, export: { as: '${ { mine: 1 } }' } }
      - greet: { call: 'https://things.example.com/resources/greet.yaml', with: { name: '${ .name }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    greeting: Hello, dear Ann
    context: {}
    """

  @T36 @1.8-custom
  Scenario: A function that is wrong is reported at its call
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: broken, version: '1.0.0' }
    do:
      - a: { call: 'https://things.example.com/resources/broken.yaml' }
    """
    Then the definition should be refused with 'invalid_expression' at '/do/0/a/call'

  @T36 @1.8-custom
  Scenario: The default catalog
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: catalog, version: '1.0.0' }
    do:
      - say: { call: 'log:1.0.0@default', with: { message: 'Hello, {who}', level: warning, arguments: { who: you } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    '[WARNING]: Hello, you'
    """

  @T36 @T74
  Scenario: A function that the default catalog does not have
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: no-such-function, version: '1.0.0' }
    do:
      - a: { call: 'log:9.9.9@default' }
    """
    Then the definition should be refused with 'unknown_function' at '/do/0/a/call'

  @T69 @binary
  # It counts requests; in crash mode the deployment is not part of what crashes.
  Scenario: A resource is fetched once, when it is applied
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: deployment, name: once, version: '1.0.0' }
    do:
      - a: { set: { n: 1 }, input: { schema: { resource: { endpoint: https://things.example.com/resources/once/order.schema.json } } }, if: '.quantity != null' }
    """
    When the workflow is executed
    Then the workflow should complete
    And the world should have received 1 request for '/resources/once/order.schema.json'
