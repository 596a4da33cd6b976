Feature: OAuth 2.0, OpenID Connect and digest

  auth.example.com has tokens of two kinds, random ones below /opaque and JWTs below /jwt, and
  tells at /resource whose token it got. tokens.example.com gives tokens that tell what they
  were asked for, and things.example.com/echo shows them.

  @1.11-oauth2 @T44
  Scenario: A client's own token, its secret in the request or in the header
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: client-credentials, version: '1.0.0' }
    do:
      - post:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/opaque/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/opaque
                  grant: client_credentials
                  endpoints: { token: /token }
                  client: { id: client_secret_post, secret: '${ .secret }' }
                  scopes: [read, write]
                  audiences: [https://one.example]
          export: { as: '{ post: . }' }
      - basic:
          call: http
          input: { from: $workflow.input }
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/jwt/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/jwt
                  grant: client_credentials
                  endpoints: { token: /token, introspection: /introspect }
                  issuers: [http://auth.example.com/jwt]
                  client: { id: client_secret_basic, secret: '${ .secret }', authentication: client_secret_basic }
                  scopes: [read]
          output: { as: '{ post: $context.post, basic: . }' }
    """
    And given the workflow input is:
    """yaml
    secret: 's3cret&+%:/ü'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    post: { client: client_secret_post, subject: '', scopes: [read, write], audiences: [ 'https://one.example' ] }
    basic: { client: client_secret_basic, subject: '', scopes: [read], audiences: [] }
    """

  @1.11-oauth2
  Scenario: A client that signs its assertion with a private key
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: private-key, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/jwt/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/jwt
                  grant: client_credentials
                  endpoints: { token: /token }
                  client: { id: private_key_jwt, secret: '${ .credential }', authentication: private_key_jwt }
          output: { as: .client }
    """
    And the workflow input has the private key of the client
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    private_key_jwt
    """

  @1.11-oauth2
  Scenario: A token of a user by password, for a public client
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: password, version: '1.0.0' }
    use:
      authentications:
        peter:
          oauth2:
            authority: http://auth.example.com/opaque
            grant: password
            endpoints: { token: /token }
            username: peter
            password: '${ .password }'
            client: { id: none, authentication: none }
    do:
      - get:
          call: http
          with: { method: get, endpoint: { uri: http://auth.example.com/opaque/resource, authentication: { use: peter } } }
          output: { as: '{ client, user: (.subject != "") }' }
    """
    And given the workflow input is:
    """yaml
    password: pass word&
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    client: none
    user: true
    """

  # A code counts once: after a crash, the token that it gave is gone.
  @1.11-oauth2 @binary
  Scenario: A token for an authorization code
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: code, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/opaque/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/opaque
                  grant: authorization_code
                  endpoints: { token: /token }
                  client: { id: client_secret_post, secret: 's3cret&+%:/ü' }
                  subject: { token: '${ .credential }', type: code }
          output: { as: .subject }
    """
    And the workflow input has an authorization code
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    peter
    """

  # This server takes a refresh token once: after a crash, the one that came with the answer is gone.
  @1.11-oauth2 @binary
  Scenario: A token for a refresh token
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: refresh, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/opaque/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/opaque
                  grant: refresh_token
                  endpoints: { token: /token }
                  client: { id: client_secret_post, secret: 's3cret&+%:/ü' }
                  subject: { token: '${ .credential }', type: 'urn:ietf:params:oauth:token-type:refresh_token' }
          output: { as: .subject }
    """
    And the workflow input has a refresh token
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    peter
    """

  @1.11-oauth2 @T44
  Scenario: Tokens are exchanged at the default endpoint below the authority
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: exchange, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: https://things.example.com/echo/exchange
              authentication:
                oauth2:
                  authority: https://tokens.example.com/realms/r
                  grant: urn:ietf:params:oauth:grant-type:token-exchange
                  client: { id: me, secret: hidden }
                  subject: { token: from-the-user, type: 'urn:ietf:params:oauth:token-type:access_token' }
                  actor: { token: from-me, type: 'urn:ietf:params:oauth:token-type:jwt' }
                  scopes: [a, b]
          output: { as: '.headers.authorization | ltrimstr("Bearer ") | split("&")' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - actor_token=from-me
    - actor_token_type=urn:ietf:params:oauth:token-type:jwt
    - client_id=me
    - grant_type=urn:ietf:params:oauth:grant-type:token-exchange
    - path=/realms/r/oauth2/token
    - scope=a b
    - subject_token=from-the-user
    - subject_token_type=urn:ietf:params:oauth:token-type:access_token
    """

  @1.11-oauth2
  Scenario: A client that signs with its secret, and a request in JSON
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: secret-jwt, version: '1.0.0' }
    do:
      - signed:
          call: http
          with:
            method: get
            endpoint:
              uri: https://things.example.com/echo/signed
              authentication:
                oauth2:
                  authority: https://tokens.example.com/realms/r
                  grant: client_credentials
                  client: { id: me, secret: shared secret of the client, authentication: client_secret_jwt }
          output: { as: '{ sent: (.headers.authorization | ltrimstr("Bearer ") | split("&")) }' }
      - json:
          call: http
          with:
            method: get
            endpoint:
              uri: https://things.example.com/echo/json
              authentication:
                oauth2:
                  authority: https://tokens.example.com/realms/r
                  grant: client_credentials
                  request: { encoding: application/json }
                  client: { id: me, secret: hidden }
          output: { as: '.headers.authorization | ltrimstr("Bearer ") | split("&")' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - client_id=me
    - grant_type=client_credentials
    - media=application/json
    - path=/realms/r/oauth2/token
    """
    And signed should complete with output:
    """yaml
    sent:
      - client_assertion=me
      - client_id=me
      - grant_type=client_credentials
      - path=/realms/r/oauth2/token
    """

  @1.11-oidc @T44
  Scenario: Endpoints are discovered, by OpenID Connect and by the address of the document
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: discovery, version: '1.0.0' }
    do:
      - oidc:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/jwt/resource
              authentication:
                oidc:
                  authority: http://auth.example.com/jwt
                  grant: client_credentials
                  client: { id: client_secret_post, secret: 's3cret&+%:/ü' }
                  issuers: [http://auth.example.com/jwt]
          output: { as: '{ client }' }
      - document:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/jwt/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/jwt/.well-known/openid-configuration
                  grant: client_credentials
                  client: { id: client_secret_basic, secret: 's3cret&+%:/ü', authentication: client_secret_basic }
          output: { as: '{ client }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    client: client_secret_basic
    """
    And oidc should complete with output:
    """yaml
    client: client_secret_post
    """

  @1.11-oauth2 @T81
  Scenario: A token request that is refused is an authentication error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: refused, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/opaque/resource
              authentication:
                oauth2:
                  authority: http://auth.example.com/opaque
                  grant: client_credentials
                  endpoints: { token: /token }
                  client: { id: client_secret_post, secret: wrong }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/authentication
    status: 401
    detail: invalid_client
    instance: /do/0/get
    """

  @1.11-bearer @T81
  Scenario: A call that is refused keeps its status as a communication error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: unauthorized, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint: { uri: http://auth.example.com/opaque/resource, authentication: { bearer: { token: wrong } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 401
    instance: /do/0/get
    """

  @1.11-digest
  Scenario: Digest, with the algorithms MD5 and SHA-256
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: digest, version: '1.0.0' }
    do:
      - each:
          for: { each: algorithm, in: '${ ["MD5", "SHA-256"] }' }
          do:
            - get:
                call: http
                with:
                  method: get
                  endpoint:
                    uri: '${ "http://auth.example.com/digest-auth/auth/Mufasa/Circle/" + $algorithm }'
                    authentication: { digest: { username: Mufasa, password: Circle } }
                output: { as: '{ user, authorized }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    user: Mufasa
    authorized: true
    """
    And get should run 2 times

  @1.11-digest
  Scenario: A wrong password by digest
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: oauth2, name: digest-wrong, version: '1.0.0' }
    do:
      - get:
          call: http
          with:
            method: get
            endpoint:
              uri: http://auth.example.com/digest-auth/auth/Mufasa/Circle
              authentication: { digest: { username: Mufasa, password: Square } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 401
    instance: /do/0/get
    """
