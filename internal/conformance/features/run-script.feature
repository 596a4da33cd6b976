Feature: Scripts

  @1.7-run-script @T89 @T50
  Scenario: JavaScript is ES2024
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: es2024, version: '1.0.0' }
    do:
      - a:
          run:
            script:
              language: js
              code: |
                const list = await Array.fromAsync([1, 2, 3]);
                console.log(JSON.stringify(Object.groupBy(list, n => n % 2 ? 'odd' : 'even')));
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    '{"odd":[1,3],"even":[2]}'
    """

  @T47 @T46 @T48
  Scenario: A script in JavaScript returns a value, and a map of arguments predefines variables
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: js-map, version: '1.0.0' }
    do:
      - a:
          run:
            script:
              language: js
              code: 'return { name, twice: list.concat(list), argv: JSON.parse(process.argv[2]) }'
              arguments: { name: '${ .name }', list: '${ .list }' }
    """
    And given the workflow input is:
    """yaml
    { name: '"; throw 1; "', list: [1] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: '"; throw 1; "'
    twice: [1, 1]
    argv: { name: '"; throw 1; "', list: [1] }
    """

  @T46 @T50
  Scenario: A list of arguments is argv, with environment and standard input
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: list, version: '1.0.0' }
    do:
      - js:
          run:
            script:
              language: js
              code: 'return [process.argv.slice(2), process.env.VALUE]'
              arguments: [ '${ .n }', x ]
              environment: { VALUE: '${ .n }' }
          output: { as: '{ n: $input.n, js: . }' }
      - python:
          run:
            script:
              language: python
              code: |
                import os, sys
                return [sys.argv[1:], os.environ["VALUE"], sys.stdin.read()]
              arguments: [ '${ .n }', x ]
              environment: { VALUE: '${ .n }' }
              stdin: '${ .n }'
          output: { as: '[$input.js, .]' }
    """
    And given the workflow input is:
    """yaml
    n: a value
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - [[a value, x], a value]
    - [[a value, x], a value, a value]
    """

  @1.7-run-script @T47 @T46 @T89
  Scenario: A script in Python returns a value, and a map of arguments predefines variables
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: python-map, version: '1.0.0' }
    do:
      - a:
          run:
            script:
              language: python
              code: |
                import json, sys
                return {"name": name, "sum": sum(numbers), "argv": json.loads(sys.argv[1])["name"]}
              arguments: { name: '${ .name }', numbers: '${ .numbers }' }
    """
    And given the workflow input is:
    """yaml
    { name: it's, numbers: [1, 2] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { name: it's, sum: 3, argv: it's }
    """

  @T47 @T79 @T49
  Scenario Outline: Text, failure and everything, in both languages
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: <name>, version: '1.0.0' }
    do:
      - a: { run: { script: { language: <language>, code: '<code>' }, return: <return> } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    <output>
    """

    Examples:
      | name        | language | return | code                                   | output                                             |
      | js-text     | js       | stdout | console.log("{}"); console.log("")     | '{}'                                               |
      | js-none     | js       | none   | return 1                               | null                                               |
      | js-all      | js       | all    | console.error("e"); return 1           | { code: 0, stdout: 1, stderr: e, files: [] }       |
      | js-code     | js       | code   | process.exit(3)                        | 3                                                  |
      | python-text | python   | stdout | print("{}"); print()                   | '{}'                                               |
      | python-code | python   | code   | import sys; sys.exit(3)                | 3                                                  |
      | python-all  | python   | all    | import sys; print("o"); sys.exit(3)    | { code: 3, stdout: o, stderr: '', files: [] }      |

  @T49 @1.10-types
  Scenario Outline: JavaScript that throws or cannot be read is a runtime error in every mode
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: throws-<name>, version: '1.0.0' }
    do:
      - a: { run: { script: { language: js, code: '<code>' }, return: <return> } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    title: Script failed
    instance: /do/0/a
    detail: '<detail>'
    """

    Examples:
      | name       | return | code                                                   | detail      |
      | code       | code   | throw new Error("x")                                   | Error: x    |
      | all        | all    | throw "thrown"                                         | thrown      |
      | stderr     | stderr | null.x                                                 | TypeError   |
      | unreadable | code   | let =                                                  | SyntaxError |
      | unawaited  | all    | (async () => { throw new Error(7) })(); console.log(1) | Error: 7    |

  @T49 @1.10-types
  Scenario Outline: A script that fails is a runtime error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: fails-<language>, version: '1.0.0' }
    do:
      - a: { run: { script: { language: <language>, code: '<code>' } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/runtime
    status: 500
    instance: /do/0/a
    detail: my words
    """

    Examples:
      | language | code                        |
      | js       | throw new Error("my words") |
      | python   | raise Exception("my words") |

  @T69 @1.11-resource
  Scenario: A script whose address depends on the data is read when the task runs
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: source, version: '1.0.0' }
    do:
      - expression:
          run:
            script:
              language: js
              source: { endpoint: '${ "https://things.example.com/resources/" + .file + ".js" }' }
              arguments: { number: '${ .n }' }
          output: { as: '{ file: $input.file, n: .doubled }' }
      - template:
          run:
            script:
              language: js
              source: { endpoint: { uri: 'https://things.example.com/resources/{file}.js' } }
              arguments: { number: '${ .n }' }
    """
    And given the workflow input is:
    """yaml
    { file: double, n: 21 }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    doubled: 84
    """

  @T89
  Scenario: Other languages are refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: run-script, name: ruby, version: '1.0.0' }
    do:
      - a: { run: { script: { language: ruby, code: puts 1 } } }
    """
    Then the definition should be refused with 'not_supported' at '/do/0/a/run/script/language'
