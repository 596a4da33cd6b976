Feature: Other workflows

  @1.7-run-workflow @T51
  Scenario: The output of the child is that of the task, and its context is its own
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: child, version: '1.0.0' }
    input: { from: '{ from: . }' }
    do:
      - a: { set: { input: '${ . }', context: '${ $context }' }, export: { as: '{ child: true }' } }
    output: { as: '. + { as: true }' }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: parent, version: '1.0.0' }
    do:
      - begin: { set: { n: 1 }, export: { as: '{ parent: true }' } }
      - explicit: { run: { workflow: { namespace: run-workflow, name: child, version: '1.0.0', input: { n: '${ .n + 1 }', literal: .n } } }, output: { as: '{ explicit: . }' } }
      - inherited: { input: { from: '. + { in: true }' }, run: { workflow: { namespace: run-workflow, name: child, version: latest } }, output: { as: '{ explicit: $input.explicit, inherited: ., context: $context }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    explicit: { input: { from: { n: 2, literal: .n } }, context: {}, as: true }
    inherited:
      input: { from: { explicit: { input: { from: { n: 2, literal: .n } }, context: {}, as: true }, in: true } }
      context: {}
      as: true
    context: { parent: true }
    """

  @T53 @T51
  Scenario: The input of a child may be anything
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: any-child, version: '1.0.0' }
    do:
      - a: { set: '${ [$workflow.input] }' }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: any-parent, version: '1.0.0' }
    do:
      - list: { run: { workflow: { namespace: run-workflow, name: any-child, version: '1.0.0', input: [ 1, '${ .n }' ] } } }
      - text: { run: { workflow: { namespace: run-workflow, name: any-child, version: '1.0.0', input: '${ .[0] | length }' } } }
    """
    And given the workflow input is:
    """yaml
    n: 2
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [2]
    """
    And list should complete with output:
    """yaml
    [[1, 2]]
    """

  @T51 @1.10-uncaught @T71
  Scenario: The error of a child is raised by the task, and tells where it comes from
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: failing-child, version: '1.0.0' }
    do:
      - deep: { do: [ { fail: { raise: { error: { type: 'https://example.com/e', status: 418, title: T, detail: D } } } } ] }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: failing-parent, version: '1.0.0' }
    do:
      - guarded:
          try: [ { sub: { run: { workflow: { namespace: run-workflow, name: failing-child, version: '1.0.0' } } } } ]
          catch: { do: [ { handle: { set: { error: '${ $error | del(.detail) }', where: '${ $error.detail | contains("/do/0/deep/do/0/fail") }', what: '${ $error.detail | startswith("D") }' } } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    error: { type: https://example.com/e, status: 418, title: T, instance: /do/0/guarded/try/0/sub }
    where: true
    what: true
    """

  @T51 @T71 @1.10-types
  Scenario: A child checks its own input
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: strict-child, version: '1.0.0' }
    input: { schema: { format: json, document: { type: object, required: [needed] } } }
    do:
      - a: { set: { x: 1 } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: strict-parent, version: '1.0.0' }
    do:
      - sub: { run: { workflow: { namespace: run-workflow, name: strict-child, version: '1.0.0', input: { other: 1 } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/sub
    detail: /input/schema
    """

  @T67 @1.7-run
  Scenario: A child that is not awaited is an execution of its own
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: free-child, version: '1.0.0' }
    do:
      - pause: { wait: { milliseconds: 30 } }
      - a: { set: '${ { got: $workflow.input } }' }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: free-parent, version: '1.0.0' }
    do:
      - sub: { input: { from: '{ in: . }' }, run: { workflow: { namespace: run-workflow, name: free-child, version: '1.0.0', input: { n: 1 } }, await: false } }
      - fail: { if: .fail, raise: { error: { type: 'https://example.com/e', status: 400 } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    in: {}
    """
    And an execution of 'run-workflow/free-child' should complete with output:
    """yaml
    got: { n: 1 }
    """

  @T51 @1.5-phases
  Scenario: Cancelling the parent cancels the child that it awaits
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: cancelled-child, version: '1.0.0' }
    do:
      - pause: { wait: { days: 1 } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: cancelling-parent, version: '1.0.0' }
    do:
      - sub: { run: { workflow: { namespace: run-workflow, name: cancelled-child, version: '1.0.0' } } }
    """
    When the workflow is started
    And the workflow is waiting
    And an execution of 'run-workflow/cancelled-child' has started
    And the execution is cancelled
    And the workflow has ended
    Then the workflow should cancel
    And sub should cancel
    And an execution of 'run-workflow/cancelled-child' should cancel

  @T51 @1.3-timeout
  Scenario: A timeout of the task cancels the child
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: late-child, version: '1.0.0' }
    do:
      - pause: { wait: { days: 1 } }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: late-parent, version: '1.0.0' }
    do:
      - sub: { timeout: { after: { milliseconds: 50 } }, run: { workflow: { namespace: run-workflow, name: late-child, version: '1.0.0' } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    status: 408
    instance: /do/0/sub
    """
    And an execution of 'run-workflow/late-child' should cancel

  @T85 @T51
  Scenario: The latest version is the published one, and older ones can be named
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: versions, version: '1.0.0' }
    do:
      - a: { set: '${ "first" }' }
    """
    And a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: versions, version: '1.1.0' }
    do:
      - a: { set: '${ "published" }' }
    """
    And a draft with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: versions, version: '2.0.0' }
    do:
      - a: { set: '${ "draft" }' }
    """
    And another workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: run-workflow, name: versions-parent, version: '1.0.0' }
    do:
      - latest: { run: { workflow: { namespace: run-workflow, name: versions, version: latest } }, output: { as: '[.]' } }
      - missing: { input: { from: '{ list: . }' }, run: { workflow: { namespace: run-workflow, name: versions } }, output: { as: '$input.list + [.]' } }
      - older: { input: { from: '{ list: . }' }, run: { workflow: { namespace: run-workflow, name: versions, version: '1.0.0' } }, output: { as: '$input.list + [.]' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [published, published, first]
    """
