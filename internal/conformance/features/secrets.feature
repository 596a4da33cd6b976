Feature: Secrets

  @T10 @1.11-secrets @1.2-use
  Scenario: Secrets can be read in every slot, and are redacted on every way out
    Given the secret 'features-everywhere' is:
    """yaml
    { word: hidden-word-1, n: { list: [hidden-word-2] } }
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: everywhere, version: '1.0.0' }
    use: { secrets: [features-everywhere] }
    input: { from: '{ workflowIn: ($secrets["features-everywhere"].word == "hidden-word-1") }' }
    do:
      - a:
          if: '$secrets["features-everywhere"].n.list[0] == "hidden-word-2"'
          input: { from: '. + { taskIn: ($secrets["features-everywhere"].word | length) }' }
          set: { data: '${ . }', word: '${ $secrets["features-everywhere"].word }', part: '${ "a " + $secrets["features-everywhere"].n.list[0] + " b" }' }
          output: { as: '. + { as: ($secrets["features-everywhere"].word | length) }' }
          export: { as: '{ context: $secrets["features-everywhere"].word }' }
      - b: { set: '${ . + { same: ($context.context == $secrets["features-everywhere"].word and .word == $context.context) } }' }
    output: { as: '. + { out: ($secrets["features-everywhere"].word | length), key: { ($secrets["features-everywhere"].word): 1 } }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    data: { workflowIn: true, taskIn: 13 }
    word: '[redacted]'
    part: a [redacted] b
    as: 13
    same: true
    out: 13
    key: { '[redacted]': 1 }
    """
    And nothing that is shown should contain 'hidden-word'

  @T10 @1.11-secrets
  Scenario: A secret reaches the peer, and is redacted in what comes back and in errors
    Given the secret 'features-peer' is:
    """yaml
    hidden-token-3
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: peer, version: '1.0.0' }
    use: { secrets: [features-peer] }
    do:
      - call:
          call: http
          with: { method: get, endpoint: '${ "https://things.example.com/bearer/" + $secrets["features-peer"] }', headers: { Authorization: '${ "Bearer " + $secrets["features-peer"] }' } }
      - echo:
          call: http
          with: { method: post, endpoint: https://things.example.com/echo/peer, headers: { x-word: '${ $secrets["features-peer"] }' }, body: '${ { word: $secrets["features-peer"] } }' }
          output: { as: '[.headers["x-word"], .body.word]' }
      - fail: { raise: { error: { type: 'https://example.com/e', status: 400, detail: '${ "the word is " + $secrets["features-peer"] }' } } }
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://example.com/e
    status: 400
    detail: the word is [redacted]
    instance: /do/2/fail
    """
    And call should complete with output:
    """yaml
    authenticated: true
    """
    And echo should complete with output:
    """yaml
    ['[redacted]', '[redacted]']
    """
    And nothing that is shown should contain 'hidden-token'

  @T75 @1.11-secrets @1.10-types
  Scenario: A declared secret that does not exist faults at once
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: missing, version: '1.0.0' }
    use: { secrets: [features-missing] }
    do:
      - a: { set: { x: 1 } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/authorization
    status: 403
    detail: features-missing
    """
    And a should not run

  @T75
  Scenario: A name that is not declared is refused where it can be seen
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: undeclared, version: '1.0.0' }
    use: { secrets: [declared] }
    do:
      - a: { set: { x: '${ $secrets.other }' } }
    """
    Then the definition should be refused with 'unknown_secret' at '/do/0/a/set/x'

  @T75 @1.10-types
  Scenario: A name that is not declared is an authorization error when it is asked for
    Given the secret 'features-declared' is:
    """yaml
    hidden-word-4
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: dynamic, version: '1.0.0' }
    use: { secrets: [features-declared] }
    do:
      - a: { set: { x: '${ $secrets[.name] | length }' } }
      - guarded:
          try: [ { b: { set: { x: '${ $secrets["other" + ""] }' } } } ]
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/authorization, status: 403 } }
            do: [ { handle: { set: '${ . + { denied: true } }' } } ]
    """
    And given the workflow input is:
    """yaml
    name: features-declared
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { x: 13, denied: true }
    """

  @T68 @1.11-secret
  Scenario Outline: Schemes by the name of a secret
    Given the secret 'features-<name>' is:
    """yaml
    <secret>
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: scheme-<name>, version: '1.0.0' }
    use:
      secrets: [features-<name>]
      authentications: { someone: { <scheme>: { use: features-<name> } } }
    do:
      - inline: { call: http, with: { method: get, endpoint: { uri: 'https://things.example.com/<scheme>/<path>', authentication: { <scheme>: { use: features-<name> } } } } }
      - named: { call: http, with: { method: get, endpoint: { uri: 'https://things.example.com/<scheme>/<path>', authentication: { use: someone } } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    authenticated: true
    """
    And nothing that is shown should contain 'hidden'

    Examples:
      | name   | scheme | secret                                   | path              |
      | basic  | basic  | { username: tom, password: hidden-word } | tom/hidden-word   |
      | digest | digest | { username: tom, password: hidden-word } | tom/hidden-word   |
      | bearer | bearer | { token: hidden-token }                  | hidden-token      |
      | text   | bearer | hidden-text                              | hidden-text       |

  @T37 @T10
  Scenario: Functions of the document see the secrets
    Given the secret 'features-function' is:
    """yaml
    hidden-word-5
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: function, version: '1.0.0' }
    use:
      secrets: [features-function]
      functions: { reads: { set: { length: '${ $secrets["features-function"] | length }' } } }
    do:
      - a: { call: reads }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    length: 13
    """

  @T10 @1.11-secrets
  Scenario: An execution keeps the versions of the secrets that it started with
    Given the secret 'features-pinned' is:
    """yaml
    hidden-word-6
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: pinned, version: '1.0.0' }
    use: { secrets: [features-pinned] }
    do:
      - pause: { wait: { milliseconds: 300 } }
      - check: { set: { first: '${ $secrets["features-pinned"] == "hidden-word-" + "6" }' } }
    """
    When the workflow is started
    And pause has run 1 time
    And the secret 'features-pinned' is:
    """yaml
    another-word-7
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    first: true
    """

  @T10 @1.11-secrets
  Scenario: Loops, waits, handlers and scripts work with what a secret is, and show none of it
    Given the secret 'features-flow' is:
    """yaml
    { token: seen-everywhere, wait: PT0.01S, list: [ one-of-many, two-of-many ] }
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: flow, version: '1.0.0' }
    use: { secrets: [features-flow] }
    input: { from: '{ from: $secrets["features-flow"].token }' }
    do:
      - skipped: { if: '$secrets["features-flow"].token != "seen-everywhere"', set: { never: true } }
      - send:
          call: http
          with:
            method: post
            endpoint: '${ "https://things.example.com/echo/" + $secrets["features-flow"].token }'
            headers: { x-token: '${ $secrets["features-flow"].token }' }
            query: { token: '${ $secrets["features-flow"].token }' }
            body: { token: '${ $secrets["features-flow"].token }', basic: '${ "Basic " + ($secrets["features-flow"].token | @base64) }' }
          output: { as: '{ whole: [.path, .headers["x-token"], .query.token, .body.token] | map(endswith($secrets["features-flow"].token)), shown: [.path, .headers["x-token"], .query.token, .body.basic] }' }
          export: { as: '$context + { sent: ., same: (.shown[1] == $secrets["features-flow"].token) }' }
      - pause: { wait: '${ $secrets["features-flow"].wait }' }
      - loop:
          for: { in: '${ $secrets["features-flow"].list }' }
          do:
            - choose: { switch: [ { two: { when: '$item == $secrets["features-flow"].list[1]', then: keep } }, { other: { then: continue } } ] }
            - keep: { set: { count: '${ (.count // 0) + 1 }', item: '${ $item }' } }
      - fails:
          try:
            - raise: { raise: { error: { type: 'https://example.com/e', status: 422, detail: '${ "because of " + $secrets["features-flow"].token }' } } }
          catch:
            errors: { with: { status: 422 } }
            when: $error.detail | endswith($secrets["features-flow"].token)
            do:
              - handle: { set: { item: '${ .item }', detail: '${ $error.detail }' } }
      - script:
          input: { from: '. + { token: $secrets["features-flow"].token }' }
          run: { script: { language: js, code: 'return token.length', arguments: { token: '${ .token }' } } }
          output: { as: '$input + { length: . }' }
      - last: { set: '${ . + $context }' }
    output: { as: '. + { as: $secrets["features-flow"].token }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    item: '[redacted]'
    detail: 'because of [redacted]'
    token: '[redacted]'
    length: 15
    same: true
    sent:
      whole: [true, true, true, true]
      shown: ['/echo/[redacted]', '[redacted]', '[redacted]', 'Basic [redacted]']
    as: '[redacted]'
    """
    And skipped should not run
    And keep should run 2 times
    And send should complete with output:
    """yaml
    whole: [true, true, true, true]
    shown: ['/echo/[redacted]', '[redacted]', '[redacted]', 'Basic [redacted]']
    """
    And raise should fault with error:
    """yaml
    type: https://example.com/e
    status: 422
    detail: because of [redacted]
    instance: /do/4/fails/try/0/raise
    """

  @T10 @T37
  Scenario: Events, other workflows and functions from outside get no secret
    Given the secret 'features-kept' is:
    """yaml
    kept-by-its-owner
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: child, version: '1.0.0' }
    do:
      - a: { set: { got: '${ .token }', length: '${ .token | length }' } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: secrets, name: parent, version: '1.0.0' }
    use: { secrets: [features-kept] }
    do:
      - both:
          fork:
            branches:
              - hear: { listen: { to: { one: { with: { type: '${ "kept" + $workflow.id }' } } } } }
              - say: { emit: { event: { with: { type: '${ "kept" + $workflow.id }', source: 'https://example.com', data: { token: '${ $secrets["features-kept"] }' } } } }, output: { as: .data.token | length } }
              - start: { run: { workflow: { namespace: secrets, name: child, version: '1.0.0', input: { token: '${ $secrets["features-kept"] }' } } } }
              - log: { call: 'log:1.0.0@default', with: { message: '${ "token " + $secrets["features-kept"] }', format: '{MESSAGE}' }, output: { as: '[., length]' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - [ { token: '[redacted]' } ]
    - 17
    - { got: '[redacted]', length: 10 }
    - [ 'token [redacted]', 23 ]
    """
    And nothing that is shown should contain 'kept-by-its-owner'
