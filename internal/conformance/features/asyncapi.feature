Feature: AsyncAPI calls

  Documents describe channels of things.example.com (HTTP), ws.example.com (WebSocket) and
  nats.example.com. What is published lies in a mailbox, which the next task opens.

  @1.8-asyncapi @T69
  Scenario: A message is published over HTTP
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: publish-http, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: mailbox/http-order
            message:
              payload: { item: '${ .item }', count: 9007199254740993 }
              headers: { X-Trace: '${ .trace }' }
      - open: { call: http, with: { method: get, endpoint: https://things.example.com/mailbox/http-order } }
    """
    And given the workflow input is:
    """yaml
    item: lamp
    trace: t1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    headers: { Method: POST, Content-Type: application/json, X-Trace: t1 }
    payload: { item: lamp, count: 9007199254740993 }
    """
    And publish should complete with output:
    """yaml
    null
    """

  @1.8-asyncapi
  Scenario: Bindings and content type come from the document
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: publish-binding, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: mailbox/http-csv
            message: { payload: '${ "a,b" }' }
      - open: { call: http, with: { method: get, endpoint: https://things.example.com/mailbox/http-csv } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    headers: { Method: PUT, Content-Type: text/csv, X-Trace: '' }
    payload: a,b
    """

  @1.8-asyncapi
  Scenario: An operation of a document of version 3.0, with variables of its server
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: publish-operation, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-3.0.yaml }
            operation: placeOrder
            server: { name: web, variables: { name: '${ .name }' } }
            message: { payload: { id: 7 } }
      - open: { call: http, with: { method: get, endpoint: https://things.example.com/mailbox/operation-7 } }
    """
    And given the workflow input is:
    """yaml
    name: things
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    headers: { Method: POST, Content-Type: application/json, X-Trace: '' }
    payload: { id: 7 }
    """

  @1.8-asyncapi
  Scenario: A message is published over WebSocket
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: publish-ws, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: box/socket-order
            protocol: ws
            message: { payload: { item: lamp }, headers: { X-Trace: t2 } }
      - open: { call: http, with: { method: get, endpoint: https://things.example.com/mailbox/ws/box/socket-order } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    headers: { X-Trace: t2 }
    payload: { item: lamp }
    """

  @1.8-asyncapi
  Scenario: A message is published over NATS
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: publish-nats, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: box.order.{kind}
            message: { payload: { kind: lamp, n: 1 }, headers: { x-trace: t3 } }
      - open: { call: http, with: { method: get, endpoint: https://things.example.com/mailbox/box.order.lamp } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    headers: { x-trace: t3 }
    payload: { kind: lamp, n: 1 }
    """

  @1.8-asyncapi-subscribe
  Scenario: A number of messages over HTTP, filtered
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: subscribe-http, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: events/rooms
            subscription: { filter: '${ .payload.room == 2 }', consume: { amount: 3 } }
          output: { as: 'map({ payload, correlationId })' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { payload: { room: 2 }, correlationId: 2 }
    - { payload: { room: 2 }, correlationId: 2 }
    - { payload: { room: 2 }, correlationId: 2 }
    """

  # A server that begins anew for each connection says the same again after a crash.
  @1.8-asyncapi-subscribe @binary
  Scenario: Messages come in their order
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: order, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: lines/5
            subscription: { consume: { amount: 5 } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { payload: { n: 1 }, headers: {}, correlationId: null }
    - { payload: { n: 2 }, headers: {}, correlationId: null }
    - { payload: { n: 3 }, headers: {}, correlationId: null }
    - { payload: { n: 4 }, headers: {}, correlationId: null }
    - { payload: { n: 5 }, headers: {}, correlationId: null }
    """

  @1.8-asyncapi-subscribe
  Scenario: Messages over WebSocket, as long as a condition holds after each
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: subscribe-ws, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: ticks
            server: { name: live }
            subscription: { consume: { while: '${ length < 2 }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { payload: { tick: true }, headers: {}, correlationId: null }
    - { payload: { tick: true }, headers: {}, correlationId: null }
    """

  @1.8-asyncapi-subscribe
  Scenario: Messages over NATS, until a condition holds before the next
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: subscribe-nats, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: ticks
            protocol: nats
            subscription: { consume: { until: '${ length == 2 }' } }
          output: { as: 'map(.payload)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { tick: true }, { tick: true } ]
    """

  @1.8-asyncapi-subscribe
  Scenario: A condition that holds at once consumes nothing
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: until-at-once, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: ticks
            protocol: nats
            subscription: { consume: { until: '${ true }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    []
    """

  @1.8-asyncapi-subscribe
  Scenario: The time of a subscription ends it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: for-some-time, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: events/rooms
            subscription: { filter: '${ .payload.room == 3 }', consume: { amount: 1, for: { milliseconds: 100 } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    []
    """

  @1.8-asyncapi-subscribe
  Scenario: An operation of version 3.0, each message handled in turn
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: foreach, version: '1.0.0' }
    do:
      - read:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-3.0.yaml }
            operation: readTicks
            subscription:
              consume: { amount: 2 }
              foreach:
                item: message
                at: n
                do:
                  - note: { set: { seen: '${ $message.payload.tick }', number: '${ $n }' } }
                output: { as: '{ line: "\(.number): \(.seen)" }' }
                export: { as: '{ lines: (($context.lines // []) + [.line]) }' }
      - told: { set: { lines: '${ . }', context: '${ $context.lines }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    lines: [ { line: '0: true' }, { line: '1: true' } ]
    context: [ '0: true', '1: true' ]
    """
    And note should run 2 times

  @1.8-asyncapi @1.10-types
  Scenario: A server that is not there
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: unreachable, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-3.0.yaml }
            operation: placeOrder
            message: { payload: { id: 7 } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 500
    instance: /do/0/publish
    """

  @1.8-asyncapi
  Scenario: A channel that the document does not have
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: no-channel, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: letters
            message: { payload: { id: 7 } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: letters
    instance: /do/0/publish
    """

  @1.8-asyncapi
  Scenario: A channel of a server whose protocol is not spoken
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: unspoken, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: topic
            message: { payload: { id: 7 } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: kafka
    instance: /do/0/publish
    """

  @1.8-asyncapi
  Scenario: A protocol that is not spoken is refused at deployment
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: asyncapi, name: refused, version: '1.0.0' }
    do:
      - publish:
          call: asyncapi
          with:
            document: { endpoint: https://things.example.com/resources/channels-2.6.yaml }
            channel: topic
            protocol: kafka
            message: { payload: { id: 7 } }
    """
    Then the definition should be refused with 'not_supported' at '/do/0/publish/with/protocol'
