Feature: Retries

  @T19 @1.9-retry @1.10-uncaught
  Scenario: The count is that of the retries after the first run
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: count, version: '1.0.0' }
    do:
      - guarded:
          try:
            - get: { call: http, with: { method: get, endpoint: https://things.example.com/status/503/retry-count } }
          catch:
            errors: { with: { status: 503 } }
            retry: { delay: { milliseconds: 5 }, limit: { attempt: { count: 2 } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 503
    instance: /do/0/guarded/try/0/get
    """
    And get should run 3 times
    And the world should have received 3 requests for '/status/503/retry-count'

  @T21 @1.9-retry @1.9-do
  Scenario: Retries come before the handler, which runs once, on the input of the try
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: before-handler, version: '1.0.0' }
    input: { from: .v }
    do:
      - guarded:
          input: { from: '{ in: . }' }
          try:
            - change: { set: '${ . + { changed: true } }', export: { as: '{ attempts: (($context.attempts // []) + [$input]) }' } }
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: { milliseconds: 5 }, limit: { attempt: { count: 2 } } }
            do: [ { handle: { set: { data: '${ . }', error: '${ $error.status }', attempts: '${ $context.attempts }' } } } ]
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    data: { in: 1 }
    error: 500
    attempts: [{ in: 1 }, { in: 1 }, { in: 1 }]
    """
    And change should run 3 times
    And handle should run 1 time
    And handle should run last

  @T21
  Scenario: The handler does not run when a retry succeeds
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: success, version: '1.0.0' }
    do:
      - guarded:
          try:
            - count: { set: '${ . }', export: { as: '{ n: (($context.n // 0) + 1) }' } }
            - fail: { if: '$context.n < 3', raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { limit: { attempt: { count: 5 } } }
            do: [ { handle: { set: '${ "wrong" }' } } ]
            then: end
      - after: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 3
    """
    And count should run 3 times
    And handle should not run

  @T21 @T24
  Scenario: Exhausted retries without a handler follow the directive
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: exhausted-then, version: '1.0.0' }
    input: { from: .v }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { limit: { attempt: { count: 1 } } }
            then: onError
      - between: { set: wrong, then: end }
      - onError: { set: '${ [.] }' }
    """
    And given the workflow input is:
    """yaml
    v: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [1]
    """
    And fail should run 2 times

  @1.9-retry-when @T23
  Scenario Outline: The policy's own conditions see the error and decide about the retry only
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: when-<name>, version: '1.0.0' }
    use:
      retries:
        policy: { when: '<when>', exceptWhen: '<except>', limit: { attempt: { count: 3 } } }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: policy
            do: [ { handle: { set: '${ "caught" }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    caught
    """
    And fail should run <runs> times

    Examples:
      | name   | when                                  | except         | runs |
      | both   | .status == 500 and $error.status == 500 | .status == 501 | 4    |
      | when   | .status == 501                        | .status == 501 | 1    |
      | except | .status == 500                        | .status == 500 | 1    |

  @1.9-retry @1.9-filter
  Scenario: An error that the filter does not name is not retried
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: other-error, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 404 } } }
          catch:
            errors: { with: { status: 503 } }
            retry: { limit: { attempt: { count: 3 } } }
    """
    When the workflow is executed
    Then the workflow should fault
    And fail should run 1 time

  @T19
  Scenario: The attempt's duration bounds each attempt, and the error of that goes through the filter
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: attempt-duration, version: '1.0.0' }
    do:
      - guarded:
          try:
            - pause: { wait: { days: 1 } }
          catch:
            errors: { with: { type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout, status: 408, instance: /do/0/guarded } }
            retry: { limit: { attempt: { count: 2, duration: { milliseconds: 20 } }, duration: { days: 1 } } }
            do: [ { handle: { set: '${ $error.instance }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /do/0/guarded
    """
    And pause should run 3 times
    And pause should cancel

  @T19
  Scenario: An attempt that takes too long is not caught by a filter for something else
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: attempt-other, version: '1.0.0' }
    do:
      - guarded:
          try:
            - pause: { wait: { days: 1 } }
          catch:
            errors: { with: { status: 503 } }
            retry: { limit: { attempt: { count: 2, duration: { milliseconds: 20 } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout
    status: 408
    instance: /do/0/guarded
    """
    And pause should run 1 time

  @T77 @T19 @T71
  Scenario: The limit's duration interrupts the attempt, and there is no other
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: limit-duration, version: '1.0.0' }
    do:
      - guarded:
          try:
            - pause: { wait: { days: 1 } }
          catch:
            retry: { limit: { attempt: { count: 5, duration: { days: 2 } }, duration: { milliseconds: 30 } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/timeout
    status: 408
    instance: /do/0/guarded
    """
    And pause should run 1 time

  @T77
  Scenario: After an attempt that the limit interrupted comes the handler
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: limit-handler, version: '1.0.0' }
    do:
      - guarded:
          try:
            - pause: { wait: { days: 1 } }
          catch:
            retry: { limit: { duration: { milliseconds: 30 } } }
            do: [ { handle: { set: '${ $error.status }' } } ]
            then: end
      - never: { set: '${ "wrong" }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    408
    """
    And pause should run 1 time

  @T19 @1.9-retry
  Scenario: Without a count the number of retries is not limited
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: unlimited, version: '1.0.0' }
    do:
      - guarded:
          try:
            - count: { set: '${ . }', export: { as: '{ n: (($context.n // 0) + 1) }' } }
            - fail: { if: '$context.n < 30', raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch: { retry: {} }
      - after: { set: '${ $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 30
    """

  @T20 @1.9-backoff @T72
  Scenario Outline: How long the delay before the third retry is
    The first two retries have no delay; a third one that would end after the limit is not begun. So the
    limit tells the formulas apart without waiting. `.` of the delay is the error.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: backoff-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - count: { set: '${ . }', export: { as: '{ n: (($context.n // 0) + 1) }' } }
            - quick: { if: '$context.n < 3', raise: { error: { type: 'https://example.com/e', status: 500, title: PT0S, detail: PT0S } } }
            - slow: { raise: { error: { type: 'https://example.com/e', status: 500, title: PT2M, detail: <delay> } } }
          catch:
            retry: { delay: '${ .detail }', <policy> limit: { duration: <limit> } }
            do: [ { handle: { set: '${ $context.n }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    3
    """
    And count should run 3 times
    And handle should run 1 time

    Examples:
      | name        | delay | limit    | policy                                |
      | constant    | PT10M | PT9M     | backoff: { constant: {} },            |
      | linear      | PT10M | PT29M    | backoff: { linear: {} },              |
      | exponential | PT10M | PT39M    | backoff: { exponential: {} },         |
      | jitter      | PT10M | PT11M    | jitter: { from: '${ .title }', to: '${ .title }' }, |
      | cap         | PT50M | PT59M    | backoff: { exponential: {} },         |

  @T20 @1.9-backoff
  Scenario Outline: How long the delay before the third retry is not
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: backoff-not-<name>, version: '1.0.0' }
    do:
      - guarded:
          try:
            - count: { set: '${ . }', export: { as: '{ n: (($context.n // 0) + 1) }' } }
            - quick: { if: '$context.n < 3', raise: { error: { type: 'https://example.com/e', status: 500, title: PT0S, detail: PT0S } } }
            - slow: { raise: { error: { type: 'https://example.com/e', status: 500, title: PT2M, detail: <delay> } } }
          catch:
            retry: { delay: '${ .detail }', <policy> limit: { duration: <limit> } }
            do: [ { handle: { set: '${ $context.n }' } } ]
    """
    When the workflow is started
    And count has run 3 times
    And the execution is cancelled
    And the workflow has ended
    Then the workflow should cancel
    And count should run 3 times
    And handle should not run

    Examples:
      | name        | delay | limit    | policy                                |
      | none        | PT10M | PT12M    |                                       |
      | constant    | PT10M | PT12M    | backoff: { constant: {} },            |
      | linear      | PT10M | PT32M    | backoff: { linear: {} },              |
      | exponential | PT10M | PT42M    | backoff: { exponential: {} },         |
      | jitter      | PT10M | PT15M    | jitter: { from: '${ .title }', to: '${ .title }' }, |
      | cap         | PT50M | PT65M    | backoff: { exponential: {} },         |

  @T20 @1.9-backoff
  Scenario: The first retry has the delay itself
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: first-delay, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: PT20M, backoff: { exponential: {} }, limit: { duration: PT25M } }
    """
    When the workflow is started
    And fail has run 1 time
    And attempt 2 of '/do/0/guarded' waits in 'PT20M'
    And the execution is cancelled
    And the workflow has ended
    Then the workflow should cancel
    And fail should run 1 time

  @T20 @1.9-retry
  Scenario: Delays take their time
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: retry, name: delay, version: '1.0.0' }
    do:
      - guarded:
          try:
            - fail: { raise: { error: { type: 'https://example.com/e', status: 500 } } }
          catch:
            retry: { delay: { milliseconds: 10 }, backoff: { linear: {} }, limit: { attempt: { count: 3 } } }
            do: [ { handle: { set: '${ (now * 1000 | round) - $workflow.startedAt.epoch.milliseconds >= 60 }' } } ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    true
    """
    And fail should run 4 times
