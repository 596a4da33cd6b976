Feature: Containers

  The engine has the image box:1. Its program show tells its arguments, GREETING and its
  standard input, warns on stderr, and ends with the code in CODE.

  @1.7-run-container @1.7-run @T46
  Scenario: Command, arguments, environment and input go in, the output comes out
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: plain, version: '1.0.0' }
    do:
      - paint:
          run:
            container:
              image: box:1
              command: show
              arguments: [ '${ .colour }', two words ]
              environment: { GREETING: '${ "hello " + .colour }' }
              stdin: '${ .text }'
              lifetime: { cleanup: always }
    """
    And given the workflow input is:
    """yaml
    colour: red
    text: 'from outside'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    show red two words|hello red|from outside
    """

  @1.7-run-container @T49 @T50 @T79
  Scenario: What comes back is chosen by return
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: return, version: '1.0.0' }
    do:
      - all:
          run: { container: { image: box:1, command: show, environment: { CODE: 3 }, lifetime: { cleanup: always } }, return: all }
      - code:
          run: { container: { image: box:1, command: show, environment: { CODE: 4 }, lifetime: { cleanup: always } }, return: code }
      - stderr:
          run: { container: { image: box:1, command: show, lifetime: { cleanup: always } }, return: stderr }
      - none:
          run: { container: { image: box:1, command: show, lifetime: { cleanup: always } }, return: none }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    null
    """
    And all should complete with output:
    """yaml
    code: 3
    stdout: show||
    stderr: a warning
    files: []
    """
    And code should complete with output:
    """yaml
    4
    """
    And stderr should complete with output:
    """yaml
    a warning
    """

  @1.7-run-container @T49
  Scenario: A code that is not zero is a runtime error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: code, version: '1.0.0' }
    do:
      - paint: { run: { container: { image: box:1, command: show, environment: { CODE: 9 }, lifetime: { cleanup: always } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    detail: a warning
    instance: /do/0/paint
    """

  @1.7-run-container
  Scenario: An image that is nowhere
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: image, version: '1.0.0' }
    do:
      - paint: { run: { container: { image: 'missing:7', pullPolicy: never } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: missing:7
    instance: /do/0/paint
    """

  @1.7-run-container
  Scenario: A path of the host that the operator has not allowed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: volume, version: '1.0.0' }
    do:
      - paint: { run: { container: { image: box:1, command: show, volumes: { /etc: /host } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration
    status: 400
    detail: /etc
    instance: /do/0/paint
    """

  # A container that stays is made anew by the run after a crash, so it is counted in no crash.
  @1.7-run-container @binary
  Scenario: A container without a name has the suggested one, and stays
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: container, name: named, version: '1.0.0' }
    do:
      - paint: { run: { container: { image: box:1, command: show } } }
      - given: { run: { container: { image: box:1, command: show, name: '${ "the-" + "name" }' } } }
    """
    When the workflow is executed
    Then the workflow should complete
    And 1 container should be named 'named-[0-9a-f-]{36}[.]container-paint'
    And 1 container should be named 'the-name'
