Feature: OpenAPI calls

  Documents describe things.example.com/echo, which tells what it was sent.

  @1.8-openapi @T43
  Scenario: Parameters of Swagger 2.0 go where the operation says
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: swagger, version: '1.0.0' }
    do:
      - get:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-2.0.json }
            operationId: getThing
            parameters: { id: '${ .id }', fields: [a, 'b c'], X-Trace: t1, Authorization: Token x }
          output: { as: '{ method, path, query, trace: .headers["x-trace"], authorization: .headers.authorization }' }
    """
    And given the workflow input is:
    """yaml
    id: 7
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: GET
    path: /echo/v2/things/7
    query: { fields: 'a,b c' }
    trace: t1
    authorization: Token x
    """

  @1.8-openapi @T82
  Scenario: The body parameter of Swagger 2.0 takes its whole value
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: body-parameter, version: '1.0.0' }
    do:
      - put:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-2.0.json }
            operationId: replaceThing
            parameters: { id: 7, thing: { name: lamp, n: 9007199254740993 } }
          output: { as: '{ method, path, body, type: .headers["content-type"] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: PUT
    path: /echo/v2/things/7
    body: { name: lamp, n: 9007199254740993 }
    type: application/json
    """

  @1.8-openapi @T43
  Scenario: Parameters that are left over form the body
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: leftover, version: '1.0.0' }
    do:
      - put:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-2.0.json }
            operationId: replaceThing
            parameters: { id: 7, name: lamp, on: true }
          output: { as: .body }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: lamp
    on: true
    """

  @1.8-openapi @T43
  Scenario: An API key of a security scheme is a parameter
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: key, version: '1.0.0' }
    do:
      - swagger:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-2.0.json }
            operationId: secured
            parameters: { X-Key: k1 }
          output: { as: '{ key: .headers["x-key"] }' }
      - search:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-3.1.yaml }
            operationId: search
            parameters: { filter: { colour: red }, api_key: k2 }
          output: { as: '{ path, query }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    path: /echo/v31/search
    query: { 'filter[colour]': red, api_key: k2 }
    """
    And swagger should complete with output:
    """yaml
    key: k1
    """

  @1.8-openapi @T43
  Scenario: Parameters of OpenAPI 3.0
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: openapi-30, version: '1.0.0' }
    do:
      - change:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-3.0.yaml }
            operationId: changeThing
            parameters: { id: a/b, tag: [x, y], session: s1, X-Trace: t2, name: lamp }
          output: { as: '{ method, path, query, cookie: .headers.cookie, trace: .headers["x-trace"], body }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: POST
    path: /echo/v3/things/a/b
    query: { tag: 'x,y' }
    cookie: session=s1
    trace: t2
    body: { name: lamp }
    """

  @1.8-openapi @1.8-http-output @1.11-basic
  Scenario: Credentials, and the response as a whole
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: response, version: '1.0.0' }
    do:
      - change:
          call: openapi
          with:
            document: { endpoint: https://things.example.com/resources/things-3.0.yaml }
            operationId: changeThing
            parameters: { id: a, name: lamp }
            authentication: { basic: { username: ada, password: '${ .word }' } }
            output: response
          output: { as: '{ statusCode, uri: .request.uri, sent: .content.headers.authorization }' }
    """
    And given the workflow input is:
    """yaml
    word: secret
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    statusCode: 200
    uri: https://things.example.com/echo/v3/things/a
    sent: Basic YWRhOnNlY3JldA==
    """

  @1.8-openapi
  Scenario: A failed call has the real status
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: gone, version: '1.0.0' }
    do:
      - ask: { call: openapi, with: { document: { endpoint: https://things.example.com/resources/things-3.0.yaml }, operationId: gone } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 410
    instance: /do/0/ask
    """

  @1.8-openapi
  Scenario: An operation that the document does not have
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: openapi, name: operation, version: '1.0.0' }
    do:
      - ask: { call: openapi, with: { document: { endpoint: https://things.example.com/resources/things-3.0.yaml }, operationId: explode } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: changeThing, gone
    instance: /do/0/ask
    """
