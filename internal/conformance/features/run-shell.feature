Feature: Shell commands

  @1.7-run-shell @T48 @T46
  Scenario: A command is a line of the shell, and its arguments are its parameters
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: line, version: '1.0.0' }
    do:
      - a:
          run:
            shell:
              command: printf '%s\n' "$0" "$#" "$1" "$2" | tr a-z A-Z; x=${NOT_SET:-own}; printf '%s' "$x $VALUE"; cat
              arguments: [ '${ .danger }', plain ]
              environment: { VALUE: '${ .danger }' }
              stdin: '${ .danger }'
    """
    And given the workflow input is:
    """yaml
    danger: $(echo gone); `id`
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    "SH\n2\n$(ECHO GONE); `ID`\nPLAIN\nown $(echo gone); `id`$(echo gone); `id`"
    """

  @T46
  Scenario: A map of arguments becomes options
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: map, version: '1.0.0' }
    do:
      - a:
          run:
            shell:
              command: printf '<%s>' "$@"
              arguments: { name: '${ .n }' }
    """
    And given the workflow input is:
    """yaml
    n: a value
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    <--name><a value>
    """

  @T46
  Scenario: Keys that are options already, and keys without a value
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: options, version: '1.0.0' }
    do:
      - a:
          run:
            shell:
              command: printf '<%s>' "$@"
              arguments: { --user: john, -c: x, Hello: null }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    <--user><john><-c><x><Hello>
    """

  @T46
  Scenario: A map of arguments keeps the order in which it is written
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: map-order, version: '1.0.0' }
    do:
      - written:
          run:
            shell:
              command: printf '<%s>' "$@"
              arguments: { z-source: null, m: '${ .n }', a-dest: null }
          export: { as: '${ {written: .} }' }
      - yielded:
          run:
            shell:
              command: printf '<%s>' "$@"
              arguments: '${ {z: null, a: null} }'
          output: { as: '[$context.written, .]' }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - <z-source><--m><1><a-dest>
    - <a><z>
    """

  @T48
  Scenario: A command of one word gets its arguments
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: word, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: echo, arguments: [ '${ .danger }', b ] } } }
    """
    And given the workflow input is:
    """yaml
    danger: $(id) *
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    $(id) * b
    """

  @T48
  Scenario: What a command line hardly means
    Given the secret 'doubtful-token' is:
    """yaml
    Xk7-secret-99
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: doubtful, version: '1.0.0' }
    use: { secrets: [ doubtful-token ] }
    do:
      - unused: { if: '1 == 2', run: { shell: { command: echo hello, arguments: [ a ] } } }
      - secret: { if: '1 == 2', run: { shell: { command: 'login "$1"', arguments: [ '${ $secrets["doubtful-token"] }' ] } } }
      - data: { if: '1 == 2', run: { shell: { command: '${ .line }' } } }
      - fine: { run: { shell: { command: 'printf %s "$1$TOKEN"', arguments: [ a ], environment: { TOKEN: '${ "b" }' } } } }
    """
    Then the deployment should warn with 'unused_arguments' at '/do/0/unused/run/shell/arguments'
    And the deployment should warn with 'secret_in_arguments' at '/do/1/secret/run/shell/arguments/0'
    And the deployment should warn with 'evaluated_command' at '/do/2/data/run/shell/command'
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ab
    """

  @T5 @T48
  Scenario: An expression in a command is not filled in
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: embedded, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: "echo '${ .n }' \"${HOME:+home}\"" } } }
    """
    And given the workflow input is:
    """yaml
    n: wrong
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ${ .n } home
    """

  @T50 @1.7-run
  Scenario: Line breaks at the end are removed, and text is never parsed
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: text, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: 'printf "\n {\"n\": 1} \n\n"' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    "\n {\"n\": 1} "
    """

  @T49 @T50 @T79 @1.7-run
  Scenario Outline: What is returned of a process that fails
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: fails-<return>, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: 'echo out; echo err >&2; exit 3' }, return: <return> } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    <output>
    """

    Examples:
      | return | output                                          |
      | code   | 3                                               |
      | stderr | err                                             |
      | all    | { code: 3, stdout: out, stderr: err, files: [] } |

  @T49 @1.10-types
  Scenario Outline: A process that fails is an error where its code would be lost
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: error-<return>, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: 'echo out; echo what went wrong >&2; exit 3' }, return: <return> } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    instance: /do/0/a
    detail: <detail>
    """

    Examples:
      | return | detail          |
      | stdout | what went wrong |
      | none   | what went wrong |
      | stdout | "3"             |

  @T50 @1.7-run
  Scenario Outline: What is returned of a process that succeeds
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: succeeds-<return>, version: '1.0.0' }
    do:
      - a: { run: { shell: { command: 'echo out; echo err >&2' }, return: <return> } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    <output>
    """

    Examples:
      | return | output                                          |
      | stdout | out                                             |
      | stderr | err                                             |
      | code   | 0                                               |
      | none   | null                                            |

  @T79
  Scenario: What a process leaves in OUT_DIR is returned as files
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: files, version: '1.0.0' }
    do:
      - a:
          run: { shell: { command: 'printf text > "$OUT_DIR/a.txt"' }, return: all }
          output: { as: '[.code, (.files | length), .files[0].name, .files[0].size]' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [0, 1, a.txt, 4]
    """

  @T67 @1.7-run
  Scenario: The task of a process that is not awaited ends at once, and its output is the transformed input
    The process sleeps longer than any test waits.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-shell, name: detached, version: '1.0.0' }
    do:
      - a: { input: { from: '{ in: .n }' }, run: { shell: { command: sleep 300; exit 3 }, await: false }, output: { as: '[.]' } }
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [{ in: 1 }]
    """
