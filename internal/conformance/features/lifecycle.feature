Feature: Events that executions publish about themselves, where the operator turned them on

  @lifecycle @1.13-workflow @1.13-task
  Scenario: A workflow and its tasks begin and complete
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: complete-child, version: '1.0.0' }
    do:
      - first: { set: { n: 1 } }
      - skipped: { if: 'false', set: { n: 2 } }
      - last: { do: [ { inner: { set: { n: 3 } } } ] }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: complete, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: complete-child }, await: false } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/complete-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.completed.v1")'
            read: envelope
          output: { as: 'map({ type: (.type | ltrimstr("io.serverlessworkflow.") | rtrimstr(".v1")), task: .data.task } | if .task == null then .type else [.type, .task] end)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - workflow.started
    - [ task.created, /do/0/first ]
    - [ task.started, /do/0/first ]
    - [ task.completed, /do/0/first ]
    - [ task.created, /do/2/last ]
    - [ task.started, /do/2/last ]
    - [ task.created, /do/2/last/do/0/inner ]
    - [ task.started, /do/2/last/do/0/inner ]
    - [ task.completed, /do/2/last/do/0/inner ]
    - [ task.completed, /do/2/last ]
    - workflow.completed
    """

  @lifecycle @1.13-workflow
  Scenario: The events of a workflow say which execution it is
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: who-child, version: '1.0.0' }
    do:
      - work: { set: { n: 1 } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: who, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: who-child }, await: false } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/who-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.completed.v1")'
            read: envelope
          output: { as: 'map(select(.type | contains(".workflow."))) | { same: (map([.subject, .data.name, "who-child-" + .executionid + ".lifecycle"] | unique | length) | max), definition: .[0].data.definition, started: (.[0].data.startedAt == .[0].time), keys: map(.data | keys), type: (map(.datacontenttype) | unique) }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    same: 1
    definition: { namespace: lifecycle, name: who-child, version: '1.0.0' }
    started: true
    keys: [ [ definition, name, startedAt ], [ completedAt, name, outputUri ] ]
    type: [ application/json ]
    """

  @lifecycle @T64 @1.13-task @1.13-workflow
  Scenario: Completed carries a link to the output, not the output
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: link-child, version: '1.0.0' }
    do:
      - work: { set: { secretly: 42 } }
    output: { as: '{ result: .secretly }' }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: link, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: link-child }, await: false } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/link-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.completed.v1")'
            read: envelope
          output: { as: '(map(select(.type | endswith(".completed.v1")))) as $ends | { task: $ends[0].data.outputUri, workflow: $ends[1].data.outputUri, shown: (map(.data | has("output")) | any), known: ($ends[0].data | keys) }' }
    """
    When the workflow is executed
    Then the workflow should complete
    And the workflow output should have a 'shown' property with value:
    """yaml
    false
    """
    And the workflow output should have a 'known' property with value:
    """yaml
    [ completedAt, outputUri, task, workflow ]
    """
    And the link 'workflow' of the output should lead to the execution with output:
    """yaml
    result: 42
    """
    And the link 'task' of the output should lead to the task with output:
    """yaml
    secretly: 42
    """

  @lifecycle @1.13-workflow @1.13-task
  Scenario: A fault is published with its error
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: fault-child, version: '1.0.0' }
    do:
      - refuse: { raise: { error: { type: 'https://example.com/errors/refused', status: 409, title: Refused } } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: fault, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: fault-child }, await: false } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/fault-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.faulted.v1")'
            read: envelope
          output: { as: '{ types: map(.type | ltrimstr("io.serverlessworkflow.") | rtrimstr(".v1")), task: .[-2].data.error, workflow: .[-1].data.error, keys: (.[-1].data | keys) }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    types: [ workflow.started, task.created, task.started, task.faulted, workflow.faulted ]
    task: { type: 'https://example.com/errors/refused', status: 409, title: Refused, instance: /do/0/refuse }
    workflow: { type: 'https://example.com/errors/refused', status: 409, title: Refused, instance: /do/0/refuse }
    keys: [ error, faultedAt, name ]
    """

  @lifecycle @1.13-workflow @1.13-task
  Scenario: A cancelled child and its task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: cancel-child, version: '1.0.0' }
    do:
      - forever: { wait: { days: 1 } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: cancel, version: '1.0.0' }
    do:
      - split:
          fork:
            compete: true
            branches:
              - child: { run: { workflow: { namespace: lifecycle, name: cancel-child } } }
              - watcher: { listen: { to: { one: { with: { type: io.serverlessworkflow.task.started.v1, source: /lifecycle/cancel-child/1.0.0 } } } } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/cancel-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.cancelled.v1")'
            read: envelope
          output: { as: '{ types: map(.type | ltrimstr("io.serverlessworkflow.") | rtrimstr(".v1")), keys: (.[-1].data | keys), task: (.[-2].data | keys) }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    types: [ workflow.started, task.created, task.started, task.cancelled, workflow.cancelled ]
    keys: [ cancelledAt, name ]
    task: [ cancelledAt, task, workflow ]
    """

  @lifecycle @1.13-task
  Scenario: Each retry is published
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: retry-child, version: '1.0.0' }
    do:
      - guarded:
          try:
            - refuse: { raise: { error: { type: 'https://example.com/errors/refused', status: 409 } } }
          catch:
            retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 2 } } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: retry, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: retry-child }, await: false } }
      - told:
          listen:
            to:
              any: [ { with: { source: /lifecycle/retry-child/1.0.0 } } ]
              until: 'last.type | endswith(".workflow.faulted.v1")'
            read: envelope
          output: { as: 'map(select(.type | contains(".task.retried."))) | map({ task: .data.task, keys: (.data | keys) })' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { task: /do/0/guarded, keys: [ retriedAt, task, workflow ] }
    - { task: /do/0/guarded, keys: [ retriedAt, task, workflow ] }
    """

  @lifecycle @1.13-workflow
  Scenario: Correlation is published at the start and the end of listening, with its keys
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: correlation-child, version: '1.0.0' }
    do:
      - say: { emit: { event: { with: { type: com.example.lifecycle.correlation, data: { order: 7, room: x } } } } }
      - heard:
          listen:
            to:
              one:
                with: { type: com.example.lifecycle.correlation }
                correlate: { order: { from: .data.order }, place: { from: .data.room, expect: '"x"' } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: correlation, version: '1.0.0' }
    do:
      - begin: { run: { workflow: { namespace: lifecycle, name: correlation-child }, await: false } }
      - told:
          listen:
            to:
              all:
                - with: { source: /lifecycle/correlation-child/1.0.0, type: 'io\.serverlessworkflow\.workflow\.correlation-started\.v1' }
                - with: { source: /lifecycle/correlation-child/1.0.0, type: 'io\.serverlessworkflow\.workflow\.correlation-completed\.v1' }
          output: { as: 'map({ keys: (. | keys), values: .correlationKeys })' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { keys: [ name, startedAt ], values: null }
    - { keys: [ completedAt, correlationKeys, name ], values: { order: 7, place: x } }
    """

  @lifecycle @T83
  Scenario: An empty any takes these events, too
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: any-empty, version: '1.0.0' }
    do:
      - say: { emit: { event: { with: { type: com.example.lifecycle.any-empty } } } }
      - heard:
          listen:
            to: { any: [], until: 'any(.[]; .source == "/lifecycle/any-empty/1.0.0" and (.type | endswith(".correlation-started.v1")))' }
            read: envelope
          output: { as: 'map(select(.source == "/lifecycle/any-empty/1.0.0")) | map(.type | ltrimstr("io.serverlessworkflow.") | rtrimstr(".v1"))' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ workflow.started, task.created, task.started, com.example.lifecycle.any-empty, task.completed, task.created, task.started, workflow.correlation-started ]
    """

  @lifecycle-prefix @T66 @1.13-workflow
  Scenario: The prefix of the types is the operator's, and tasks tell only where that is wanted
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: lifecycle, name: prefix, version: '1.0.0' }
    do:
      - say: { emit: { event: { with: { type: com.example.lifecycle.prefix } } } }
      - heard:
          listen:
            to: { any: [ { with: { source: /lifecycle/prefix/1.0.0 } } ], until: 'any(.[]; .type | endswith(".correlation-started.v1"))' }
            read: envelope
          output: { as: 'map(.type)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - org.example.life.workflow.started.v1
    - com.example.lifecycle.prefix
    - org.example.life.workflow.correlation-started.v1
    """
