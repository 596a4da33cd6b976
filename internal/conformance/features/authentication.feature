Feature: Authentication of calls

  @1.11-basic @1.11-bearer @1.11-digest @1.2-use
  Scenario Outline: Schemes, inline and by name
    The peer answers only to those who have the credentials.
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: authentication, name: <scheme>, version: '1.0.0' }
    use:
      authentications:
        someone: { <scheme>: { <policy> } }
    do:
      - inline: { call: http, with: { method: get, endpoint: { uri: 'https://things.example.com/<scheme>/<path>', authentication: { <scheme>: { <policy> } } } }, output: { as: '{ inline: .authenticated }' } }
      - named: { call: http, with: { method: post, endpoint: { uri: 'https://things.example.com/<scheme>/<path>', authentication: { use: someone } }, body: { b: 1 } }, output: { as: '$input + { named: .authenticated }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    { inline: true, named: true }
    """

    Examples:
      | scheme | policy                                     | path             |
      | basic  | username: tom, password: 'the:word'        | tom/the:word     |
      | bearer | token: '${ "to" + "ken" }'                 | token            |
      | digest | username: tom, password: s3cret-word       | tom/s3cret-word  |

  @1.11-basic @T81 @1.10-types
  Scenario Outline: Wrong credentials are a communication error with the status of the answer
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: authentication, name: wrong-<scheme>, version: '1.0.0' }
    do:
      - a: { call: http, with: { method: get, endpoint: { uri: 'https://things.example.com/<scheme>/tom/word', authentication: { <scheme>: { <policy> } } } } }
    """
    When the workflow is executed
    Then the workflow should fault with an error like:
    """yaml
    type: https://open-workflow-specification.org/spec/1.0.0/errors/communication
    status: 401
    instance: /do/0/a
    """

    Examples:
      | scheme | policy                              |
      | basic  | username: tom, password: wrong      |
      | bearer | token: wrong                        |
      | digest | username: tom, password: wrong      |
