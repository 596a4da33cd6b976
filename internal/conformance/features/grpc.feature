Feature: gRPC calls

  grpc.example.com serves sky.proto: without TLS on port 50051, with it on 443.

  @1.8-grpc @1.7-call
  Scenario: One request has one response
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: unary, version: '1.0.0' }
    do:
      - shoot:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: sky.v1.Telescope, host: grpc.example.com, port: 50051 }
            method: Echo
            arguments: { target: '${ .target }', photons: 9007199254740993, frame_count: 2, angles: [0.5, 1], takenAt: '2026-01-02T03:04:05Z' }
    """
    And given the workflow input is:
    """yaml
    target: M31
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    target: M31
    photons: '9007199254740993'
    frameCount: 2
    angles: [0.5, 1]
    takenAt: '2026-01-02T03:04:05Z'
    """

  @T38
  Scenario: A stream of the server becomes an array
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: server-stream, version: '1.0.0' }
    do:
      - watch:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Watch
            arguments: { frameCount: 3 }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { frameCount: 1 }, { frameCount: 2 }, { frameCount: 3 } ]
    """

  @T38
  Scenario: An empty stream of the server is an empty array
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: empty-stream, version: '1.0.0' }
    do:
      - watch:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Watch
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    []
    """

  @T38
  Scenario: A stream of the client is an array of arguments
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: client-stream, version: '1.0.0' }
    do:
      - sum:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Sum
            arguments: '${ .shots }'
    """
    And given the workflow input is:
    """yaml
    shots: [ { photons: 4 }, { photons: 38 } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    photons: '42'
    frameCount: 2
    """

  @T38
  Scenario: Arguments that are no array are a stream of one
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: stream-of-one, version: '1.0.0' }
    do:
      - sum:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Sum
            arguments: { photons: 7 }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    photons: '7'
    frameCount: 1
    """

  @T38
  Scenario: Streams in both directions
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: both-streams, version: '1.0.0' }
    do:
      - chat:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Chat
            arguments: '${ [range(3) | { target: "T\(.)" }] }'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { target: T0 }, { target: T1 }, { target: T2 } ]
    """

  @1.8-grpc @1.11-bearer
  Scenario: Credentials go along over TLS
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: credentials, version: '1.0.0' }
    do:
      - ask:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 443, authentication: { bearer: { token: '${ .word }' } } }
            method: WhoAmI
            arguments: { photons: 1 }
    """
    And given the workflow input is:
    """yaml
    word: sesame
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    target: Bearer sesame
    photons: '1'
    """

  @1.8-grpc @1.10-types
  Scenario: A failed call is a communication error with the status that belongs to its code
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: failed, version: '1.0.0' }
    do:
      - fail:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Fail
            arguments: { frameCount: 5, target: no such star }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 404
    detail: no such star
    instance: /do/0/fail
    """

  @1.8-grpc @1.9-retry
  Scenario: A server that is not there can be caught
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: unreachable, version: '1.0.0' }
    do:
      - guarded:
          try:
            - ask:
                call: grpc
                with:
                  proto: { endpoint: https://things.example.com/resources/sky.proto }
                  service: { name: Telescope, host: nobody.example.com, port: 443 }
                  method: Echo
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/communication } }
            as: problem
            do:
              - tell: { set: { status: '${ $problem.status }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 503
    """

  @1.8-grpc
  Scenario: A field that the message does not have
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: field, version: '1.0.0' }
    do:
      - shoot:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Echo
            arguments: { colour: red }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    detail: colour
    instance: /do/0/shoot
    """

  @T38 @T69
  Scenario: A proto file that cannot be compiled is refused at deployment
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: broken-proto, version: '1.0.0' }
    do:
      - shoot:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/broken.proto }
            service: { name: Telescope, host: grpc.example.com }
            method: Echo
    """
    Then the definition should be refused with 'invalid_resource' at '/do/0/shoot/with/proto'
    And the refusal should say 'line 2'

  @T38
  Scenario: A method that the proto file does not have is refused at deployment
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: unknown-method, version: '1.0.0' }
    do:
      - shoot:
          call: grpc
          with:
            proto: { endpoint: https://things.example.com/resources/sky.proto }
            service: { name: Telescope, host: grpc.example.com }
            method: Explode
    """
    Then the definition should be refused with 'invalid_resource' at '/do/0/shoot/with/proto'
    And the refusal should say 'Explode'

  @T38 @T69
  Scenario: A proto file with an address that depends on the data is read by the task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: grpc, name: late-proto, version: '1.0.0' }
    do:
      - watch:
          call: grpc
          with:
            proto: { endpoint: '${ "https://things.example.com/resources/" + .file }' }
            service: { name: Telescope, host: grpc.example.com, port: 50051 }
            method: Watch
            arguments: { frameCount: 1 }
    """
    And given the workflow input is:
    """yaml
    file: sky.proto
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { frameCount: 1 } ]
    """
