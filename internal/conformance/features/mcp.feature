Feature: MCP calls

  mcp.example.com/mcp is a server of the official SDK; things-tools is the same over stdio.

  @1.8-mcp
  Scenario: The seven methods over HTTP
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: http, version: '1.0.0' }
    do:
      - all:
          fork:
            branches:
              - tools:
                  call: mcp
                  with: { method: tools/list, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
                  output: { as: '[.tools[].name] | sort' }
              - add:
                  call: mcp
                  with:
                    method: tools/call
                    parameters: { name: add, arguments: { a: '${ .a }', b: 2 } }
                    transport: { http: { endpoint: https://mcp.example.com/mcp } }
                  output: { as: .content }
              - prompts:
                  call: mcp
                  with: { method: prompts/list, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
                  output: { as: '[.prompts[].name]' }
              - prompt:
                  call: mcp
                  with:
                    method: prompts/get
                    parameters: { name: greet, arguments: { name: Ada } }
                    transport: { http: { endpoint: https://mcp.example.com/mcp } }
                  output: { as: .description }
              - resources:
                  call: mcp
                  with: { method: resources/list, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
                  output: { as: '[.resources[].uri]' }
              - read:
                  call: mcp
                  with:
                    method: resources/read
                    parameters: { uri: things://pages/7 }
                    transport: { http: { endpoint: https://mcp.example.com/mcp } }
                  output: { as: '.contents[0].text' }
              - templates:
                  call: mcp
                  with: { method: resources/templates/list, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
                  output: { as: '[.resourceTemplates[].uriTemplate]' }
    """
    And given the workflow input is:
    """yaml
    a: 40
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - [add, broken, environment, wait, who]
    - [ { type: text, text: '42' } ]
    - [greet]
    - for Ada
    - [ 'things://page' ]
    - a page
    - [ 'things://pages/{n}' ]
    """

  @1.8-mcp @T53
  Scenario: The version of the protocol has a default, and the client may have a name
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: client, version: '1.0.0' }
    do:
      - plain:
          call: mcp
          with: { method: tools/call, parameters: { name: who }, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
          output: { as: '.content[0].text | split(" ") | [.[0], .[2]]' }
      - named:
          call: mcp
          with:
            method: tools/call
            parameters: { name: who }
            protocolVersion: '2025-03-26'
            client: { name: mine, version: '1.2' }
            transport: { http: { endpoint: https://mcp.example.com/mcp } }
          output: { as: '.content[0].text' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    mine 1.2 2025-03-26
    """
    And plain should complete with output:
    """yaml
    [chargehand, '2025-06-18']
    """

  @1.8-mcp @T54
  Scenario: A tool that reports an error has answered
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: tool-error, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with: { method: tools/call, parameters: { name: broken }, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    isError: true
    content: [ { type: text, text: no paper } ]
    """

  @1.8-mcp @T54
  Scenario: An error of the protocol is a runtime error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: protocol-error, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with: { method: tools/call, parameters: { name: missing }, transport: { http: { endpoint: https://mcp.example.com/mcp } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    detail: missing
    instance: /do/0/ask
    """

  @1.8-mcp @T54
  Scenario: A refusal by HTTP is a communication error with its status
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: refused, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with: { method: tools/list, transport: { http: { endpoint: https://mcp.example.com/private } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 403
    detail: not for you
    instance: /do/0/ask
    """

  @1.8-mcp @T54
  Scenario: No connection is a communication error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: unreachable, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with: { method: tools/list, transport: { http: { endpoint: https://nobody.example.com/mcp } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 500
    instance: /do/0/ask
    """

  @1.8-mcp @1.10-types
  Scenario: A call over its time is a timeout
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: timeout, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with:
            method: tools/call
            parameters: { name: wait }
            timeout: { milliseconds: 200 }
            transport: { http: { endpoint: https://mcp.example.com/mcp } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout
    status: 408
    instance: /do/0/ask
    """

  @1.8-mcp-stdio
  Scenario: A server over stdio is a process
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: stdio, version: '1.0.0' }
    do:
      - tools:
          call: mcp
          with: { method: tools/list, transport: { stdio: { command: things-tools } } }
          output: { as: '{ tools: ([.tools[].name] | sort) }' }
      - ask:
          call: mcp
          with:
            method: tools/call
            parameters: { name: environment }
            transport:
              stdio: { command: things-tools, arguments: ['-v', '${ .tools[0] }'], environment: { GREETING: '${ "hi " + .tools[1] }' } }
          output: { as: '.content[0].text' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    hi broken -v,add
    """
    And tools should complete with output:
    """yaml
    tools: [add, broken, environment, wait, who]
    """

  @1.8-mcp-stdio @T54
  Scenario: A process that ends before it answers is a communication error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: mcp, name: dies, version: '1.0.0' }
    do:
      - ask:
          call: mcp
          with: { method: tools/list, transport: { stdio: { command: sh, arguments: ['-c', 'echo no token >&2; exit 3'] } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 500
    detail: no token
    instance: /do/0/ask
    """
