Feature: HTTP calls

  @1.8-http @1.7-call
  Scenario: All that a call can send
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: send, version: '1.0.0' }
    do:
      - a:
          call: http
          with:
            method: '${ "p" + "ut" }'
            endpoint: https://things.example.com/echo/send?fixed=1
            headers: { x-literal: .n, x-value: '${ .n }' }
            query: { q: '${ .q }', n: 2 }
            body: { list: [ '${ .n }', .n ] }
          output: { as: '{ method, path, query, body, literal: .headers["x-literal"], value: .headers["x-value"], type: .headers["content-type"] }' }
    """
    And given the workflow input is:
    """yaml
    { n: 1, q: 'a b&c' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: PUT
    path: /echo/send
    query: { fixed: '1', q: a b&c, n: '2' }
    body: { list: [1, .n] }
    literal: .n
    value: '1'
    type: application/json
    """

  @1.8-http
  Scenario: Headers and query by expression
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: maps, version: '1.0.0' }
    do:
      - a:
          call: http
          with: { method: get, endpoint: '${ .to }', headers: '${ .h }', query: '${ .q }' }
          output: { as: '[.headers["x-a"], .query, .body, .method]' }
    """
    And given the workflow input is:
    """yaml
    { to: 'https://things.example.com/echo/maps', h: { x-a: b }, q: { c: d } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [b, { c: d }, '', GET]
    """

  @T40 @1.8-http-output
  Scenario: Content by its type
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: types, version: '1.0.0' }
    input: { from: .v }
    do:
      - loop:
          for: { in: '${ ["json", "problem", "text", "xml", "binary", "empty"] }' }
          do:
            - get:
                input: { from: '{ kind: $item, list: . }' }
                call: http
                with: { method: get, endpoint: 'https://things.example.com/type/{kind}' }
                output: { as: '$input.list + [.]' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - n: 12345678901234567890
    - title: 'no'
    - plain text
    - <a>1</a>
    - AAEC
    - null
    """

  @T40 @1.8-http-output
  Scenario: Raw content is base64, also of text and JSON
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: raw, version: '1.0.0' }
    do:
      - text: { call: http, with: { method: get, endpoint: https://things.example.com/type/text, output: raw }, export: { as: '[.]' } }
      - json: { call: http, with: { method: get, endpoint: https://things.example.com/type/problem, output: raw }, output: { as: '$context + [.]' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [cGxhaW4gdGV4dA==, eyJ0aXRsZSI6ICJubyJ9]
    """

  @T40
  Scenario: A large body becomes a file
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: large, version: '1.0.0' }
    do:
      - a:
          call: http
          with: { method: get, endpoint: https://things.example.com/large/9000000/book.txt }
          output: { as: '{ size, mediaType, name, uri: (.uri | test("/api/v1/files/")), digest: .digest[:7] }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { size: 9000000, mediaType: text/plain, name: book.txt, uri: true, digest: 'sha256:' }
    """

  @T41 @1.8-http-output
  Scenario: The response with its request, without what is secret in the headers
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: response, version: '1.0.0' }
    do:
      - a:
          call: http
          with:
            method: post
            endpoint: https://things.example.com/cookie/{id}
            headers: { Authorization: Bearer in-the-header, Cookie: a=in-the-cookie, X-Shown: shown }
            query: { q: 1 }
            output: response
          output:
            as: >-
              { method: .request.method, uri: .request.uri, statusCode, content,
                sent: [.request.headers["Authorization", "Cookie", "X-Shown"]],
                got: [.headers["Set-Cookie", "Content-Type"]] }
    """
    And given the workflow input is:
    """yaml
    id: 7
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: POST
    uri: https://things.example.com/cookie/7?q=1
    statusCode: 200
    content: sent
    sent: ['[redacted]', '[redacted]', shown]
    got: ['[redacted]', application/json]
    """
    And nothing that is shown should contain 'in-the-cookie'
    And nothing that is shown should contain 'cookie-value'

  @T39 @1.8-http-redirect @1.10-types
  Scenario: A redirect is an error, and is not followed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: no-redirect, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: https://things.example.com/redirect/302/no-redirect } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 302
    instance: /do/0/a
    """
    And the world should have received 0 requests for '/echo/302/no-redirect'

  @T39 @1.8-http-redirect
  Scenario: Redirects are followed, up to ten, and a remaining one is no error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: redirect, version: '1.0.0' }
    do:
      - one: { call: http, with: { method: get, endpoint: https://things.example.com/redirect/307/redirect, redirect: true }, output: { as: '[.path]' } }
      - ten: { input: { from: '{ list: . }' }, call: http, with: { method: get, endpoint: https://things.example.com/hops/10/ten, redirect: true }, output: { as: '$input.list + [.hops]' } }
      - more: { input: { from: '{ list: . }' }, call: http, with: { method: get, endpoint: https://things.example.com/hops/11/more, redirect: true, output: response }, output: { as: '$input.list + [.statusCode]' } }
      - same: { input: { from: '{ list: . }' }, call: http, with: { method: get, endpoint: https://things.example.com/status/304/same, redirect: true, output: response }, output: { as: '$input.list + [.statusCode]' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [/echo/307/redirect, 0, 302, 304]
    """
    And the world should have received 1 request for '/hops/1/more'
    And the world should have received 0 requests for '/hops/0/more'

  @T39 @1.8-http-redirect
  Scenario: A redirect to another origin takes no credentials along
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: elsewhere, version: '1.0.0' }
    input: { from: .v }
    do:
      - loop:
          for: { in: '${ ["redirect", "elsewhere"] }' }
          do:
            - get:
                input: { from: '{ verb: $item, list: . }' }
                call: http
                with:
                  method: get
                  endpoint: { uri: 'https://things.example.com/{verb}/302/credentials', authentication: { bearer: { token: a-token } } }
                  headers: { cookie: a=b, x-api-key: key, x-key: key, accept-language: en }
                  redirect: true
                output: { as: '$input.list + [.headers | [has("authorization"), has("cookie"), has("x-api-key"), has("x-key"), has("accept-language")]]' }
    """
    And given the workflow input is:
    """yaml
    v: []
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [[true, true, true, true, true], [false, false, false, false, true]]
    """

  @1.8-http @1.10-types @T81
  Scenario Outline: Everything outside of 200 to 299 is a communication error with the real status
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: status-<status>, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: https://things.example.com/status/<status>/errors, redirect: <redirect> } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: <status>
    instance: /do/0/a
    detail: answered <status>
    """

    Examples:
      | status | redirect |
      | 401    | false    |
      | 404    | true     |
      | 500    | false    |

  @1.8-http
  Scenario: Any status from 200 to 299 is a success
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: success, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: https://things.example.com/status/299/success } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 299
    """

  @1.8-http @T91 @binary
  Scenario Outline: The idempotency key is the same until a response comes
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: keys-<name>, version: '1.0.0' }
    do:
      - a:
          try:
            - call:
                metadata: <metadata>
                call: http
                with: { method: <method>, endpoint: 'https://things.example.com/keys/<plan>/<name>' }
          catch: { retry: { limit: { attempt: { count: 5 } } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    keys: <keys>
    """

    Examples:
      | name    | method | plan                | metadata                  | keys               |
      | broken  | post   | cut-cut-200         | {}                        | [ 1, 1, 1 ]        |
      | mixed   | PATCH  | cut-503-cut-429-200 | {}                        | [ 1, 1, 2, 2, 3 ]  |
      | answers | put    | 503-503-200         | {}                        | [ 1, 2, 3 ]        |
      | delete  | delete | cut-200             | {}                        | [ 1, 1 ]           |
      | off     | post   | cut-200             | { idempotencyKey: false } | [ 0, 0 ]           |
      | get     | get    | 503-200             | {}                        | [ 0, 0 ]           |
      | asked   | get    | 503-200             | { idempotencyKey: true }  | [ 1, 2 ]           |

  @1.8-http @1.10-types
  Scenario: A host that does not exist
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: http, name: nobody, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: 'https://nobody.invalid/x' } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 500
    title: No answer
    detail: 'GET https://nobody.invalid/x: '
    """
