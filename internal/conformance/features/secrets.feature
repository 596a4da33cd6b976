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
