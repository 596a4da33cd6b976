Feature: HTTP calls

  @T20 @T21 @1.9-retry
  Scenario: A call is made again until it succeeds
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: calls, name: retry, version: '1.0.0' }
    do:
      - guarded:
          try:
            - get: { call: http, with: { method: get, endpoint: https://things.example.com/flaky/2/retry } }
          catch:
            errors: { with: { status: 503 } }
            retry: { delay: { milliseconds: 10 }, limit: { attempt: { count: 3 } } }
    """
    When the workflow is executed
    Then the workflow should complete
    And get should run 3 times
