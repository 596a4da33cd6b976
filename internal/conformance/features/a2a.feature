Feature: A2A calls

  agent.example.com is an agent of the official module: /card.json leads to /invoke.

  @1.8-a2a
  Scenario: A message to an agent that is found by its card
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: send, version: '1.0.0' }
    do:
      - ask:
          call: a2a
          with:
            method: message/send
            agentCard: { endpoint: https://agent.example.com/card.json }
            parameters: { message: { kind: message, parts: [ { kind: text, text: '${ .question }' } ] } }
          output: { as: '{ state: .status.state, text: .artifacts[0].parts[0].text, id: (.history[0].messageId | length) }' }
    """
    And given the workflow input is:
    """yaml
    question: hello
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    state: completed
    text: heard hello from user
    id: 36
    """

  @1.8-a2a
  Scenario: A task is looked up at the server that runs it
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: get, version: '1.0.0' }
    do:
      - ask:
          call: a2a
          with:
            method: message/send
            server: https://agent.example.com/invoke
            parameters: { message: { kind: message, messageId: mine, role: agent, parts: [ { kind: text, text: hi } ] } }
      - look:
          call: a2a
          with: { method: tasks/get, server: { uri: https://agent.example.com/invoke }, parameters: '${ { id } }' }
          output: { as: '{ kind, text: .artifacts[0].parts[0].text, message: .history[0].messageId }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    kind: task
    text: heard hi from agent
    message: mine
    """

  @1.8-a2a
  Scenario: A stream is the array of its results
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: stream, version: '1.0.0' }
    do:
      - ask:
          call: a2a
          with:
            method: message/stream
            agentCard: { endpoint: https://agent.example.com/card.json }
            parameters: { message: { kind: message, parts: [ { kind: text, text: again } ] } }
          output: { as: 'map({ kind, state: .status.state, text: .artifact.parts[0].text })' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { kind: task, state: submitted, text: null }
    - { kind: status-update, state: working, text: null }
    - { kind: artifact-update, state: null, text: heard again from user }
    - { kind: status-update, state: completed, text: null }
    """

  @1.8-a2a @T54
  Scenario: An error of the protocol is a runtime error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: protocol-error, version: '1.0.0' }
    do:
      - look: { call: a2a, with: { method: tasks/get, server: https://agent.example.com/invoke, parameters: { id: none } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    detail: '-32001'
    instance: /do/0/look
    """

  @1.8-a2a @T54
  Scenario: A refusal by HTTP is a communication error with its status
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: gone, version: '1.0.0' }
    do:
      - look: { call: a2a, with: { method: tasks/get, server: https://agent.example.com/gone, parameters: { id: none } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 410
    detail: moved away
    instance: /do/0/look
    """

  @1.8-a2a @T54
  Scenario: A card that is no card
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: a2a, name: card, version: '1.0.0' }
    do:
      - look: { call: a2a, with: { method: tasks/get, agentCard: { endpoint: https://agent.example.com/gone }, parameters: { id: none } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 410
    instance: /do/0/look
    """
