Feature: Credentials from secrets

  Each scheme may name a secret instead of its properties: an object with the same keys, or for
  bearer a plain text.

  @1.11-secret @T68
  Scenario: Bearer by a text and by an object
    Given the secret 'credential-text' is:
    """yaml
    from-a-text
    """
    And the secret 'credential-object' is:
    """yaml
    token: from-an-object
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: credential, name: bearer, version: '1.0.0' }
    use: { secrets: [credential-text, credential-object] }
    do:
      - text:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 443, authentication: { bearer: { use: credential-text } } }
            method: WhoAmI
          output: { as: '{ length: (.target | length) }' }
      - object:
          call: http
          with: { method: get, endpoint: { uri: https://things.example.com/echo/bearer, authentication: { bearer: { use: credential-object } } } }
          output: { as: '{ length: (.headers.authorization | length) }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    length: 21
    """
    And text should complete with output:
    """yaml
    length: 18
    """

  @1.11-secret @T68 @1.11-basic @1.11-digest
  Scenario: Basic and digest
    Given the secret 'credential-password' is:
    """yaml
    username: Mufasa
    password: Circle
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: credential, name: password, version: '1.0.0' }
    use: { secrets: [credential-password] }
    do:
      - basic:
          call: http
          with:
            method: get
            endpoint: { uri: https://httpbin.org/basic-auth/Mufasa/Circle, authentication: { basic: { use: credential-password } } }
          output: { as: '{ authenticated }' }
      - digest:
          call: http
          with:
            method: get
            endpoint: { uri: http://auth.example.com/digest-auth/auth/Mufasa/Circle, authentication: { digest: { use: credential-password } } }
          output: { as: '{ authorized }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    authorized: true
    """
    And basic should complete with output:
    """yaml
    authenticated: true
    """

  @1.11-secret @T68 @1.11-oauth2 @1.11-oidc
  Scenario: OAuth 2.0 and OpenID Connect
    Given the secret 'credential-oauth2' is:
    """yaml
    authority: http://auth.example.com/jwt
    grant: client_credentials
    endpoints: { token: /token }
    client: { id: client_secret_post, secret: 's3cret&+%:/ü' }
    scopes: [read]
    """
    And the secret 'credential-oidc' is:
    """yaml
    authority: http://auth.example.com/jwt
    grant: client_credentials
    client: { id: client_secret_basic, secret: 's3cret&+%:/ü', authentication: client_secret_basic }
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: credential, name: oauth2, version: '1.0.0' }
    use: { secrets: [credential-oauth2, credential-oidc] }
    do:
      - oauth2:
          call: http
          with: { method: get, endpoint: { uri: http://auth.example.com/jwt/resource, authentication: { oauth2: { use: credential-oauth2 } } } }
          output: { as: '{ audiences }' }
      - oidc:
          call: http
          with: { method: get, endpoint: { uri: http://auth.example.com/jwt/resource, authentication: { oidc: { use: credential-oidc } } } }
          output: { as: '{ scopes }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    scopes: []
    """
    And oauth2 should complete with output:
    """yaml
    audiences: []
    """

  @1.11-secret @T68
  Scenario: A secret that lacks what the scheme needs
    Given the secret 'credential-half' is:
    """yaml
    username: Mufasa
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: credential, name: half, version: '1.0.0' }
    use: { secrets: [credential-half] }
    do:
      - basic:
          call: http
          with: { method: get, endpoint: { uri: https://httpbin.org/basic-auth/Mufasa/Circle, authentication: { basic: { use: credential-half } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: password
    instance: /do/0/basic
    """
