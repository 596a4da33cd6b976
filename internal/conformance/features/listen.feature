Feature: Listening

  @1.7-listen @1.7-listen-one @T55
  Scenario: The output of one is a list, too
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: one, version: '1.0.0' }
    do:
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.one } } }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/one, type: com.example.listen.other, data: { n: 1 } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/one, type: com.example.listen.one, data: { n: 2 } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '3', source: /listen/one, type: com.example.listen.one, data: { n: 3 } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    - { n: 2 }
    """
    And heard should run 1 time

  @1.7-listen-all @T55
  Scenario: All gives the events in the order in which they came
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: all, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              all:
                - with: { type: com.example.listen.all.a }
                - with: { type: com.example.listen.all.b }
                - with: { type: com.example.listen.all.c }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/all, type: com.example.listen.all.c, data: { is: c } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/all, type: com.example.listen.all.a, data: { is: a } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '3', source: /listen/all, type: com.example.listen.all.a, data: { is: again } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '4', source: /listen/all, type: com.example.listen.all.b, data: { is: b } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ { is: c }, { is: a }, { is: b } ]
    """

  @T59 @1.7-listen-all
  Scenario: An event satisfies the first open filter that it matches, and only that
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: overlap, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              all:
                - with: { type: com.example.listen.overlap }
                - with: { type: com.example.listen.overlap, data: { special: true } }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/overlap, type: com.example.listen.overlap, data: { n: 1, special: true } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/overlap, type: com.example.listen.overlap, data: { n: 2, special: false } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '3', source: /listen/overlap, type: com.example.listen.overlap, data: { n: 3, special: true } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ { n: 1, special: true }, { n: 3, special: true } ]
    """

  @T59 @1.7-listen-all
  Scenario: Two equal filters want two events
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: two-alike, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              all:
                - with: { type: com.example.listen.alike }
                - with: { type: com.example.listen.alike }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/two-alike, type: com.example.listen.alike, data: 1 }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/two-alike, type: com.example.listen.alike, data: 2 }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '3', source: /listen/two-alike, type: com.example.listen.alike, data: 3 }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ 1, 2 ]
    """

  @1.7-listen-any @T56
  Scenario: Any without until takes the first event that matches one filter
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: any, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              any:
                - with: { type: com.example.listen.any.a }
                - with: { type: com.example.listen.any.b }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: '1', source: /listen/any, type: com.example.listen.any.b, data: b }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: '2', source: /listen/any, type: com.example.listen.any.a, data: a }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    [ b ]
    """

  @T83 @1.7-listen-any
  Scenario: An empty any takes any event, and one of them
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: any-empty, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.any-empty, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.any-empty, data: 2 } } } }
      - heard:
          listen: { to: { any: [] } }
          output: { as: length }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    1
    """

  @T83 @T56
  Scenario: An empty any with until takes every event, but none about the execution unless the operator wants them
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: any-every, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.any-every, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.any-every, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.any-every, data: 3 } } } }
      - heard:
          listen:
            to: { any: [], until: 'any(.[]; .source == "/listen/any-every/1.0.0" and .data == 3)' }
            read: envelope
          output: { as: 'map(select(.source == "/listen/any-every/1.0.0") | { type, data })' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - { type: com.example.listen.any-every, data: 1 }
    - { type: com.example.listen.any-every, data: 2 }
    - { type: com.example.listen.any-every, data: 3 }
    """

  @1.7-listen-until @T56 @T4
  Scenario: Until as a bare expression is asked after each event, which is part of the output
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-bare, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-bare, data: { n: 1 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-bare, data: { n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-bare, data: { n: 3 } } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.until-bare, data: { n: 4 } } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-bare } } ]
              until: '(map(.n) | add) >= 6'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 1 }, { n: 2 }, { n: 3 } ]
    """

  @1.7-listen-until @T56 @T4
  Scenario: Until as an enclosed expression is asked after each event, which is part of the output
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-expression, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-expression, data: { n: 1 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-expression, data: { n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-expression, data: { n: 3 } } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.until-expression, data: { n: 4 } } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-expression } } ]
              until: '${ (map(.n) | add) >= 6 }'
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 1 }, { n: 2 }, { n: 3 } ]
    """

  @1.7-listen-until
  Scenario: Until by one event, which is not in the output
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-one, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-one.a, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-one.b, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-one.stop, data: 3 } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.until-one.a, data: 4 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-one.a } }, { with: { type: com.example.listen.until-one.b } } ]
              until: { one: { with: { type: com.example.listen.until-one.stop } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 1, 2 ]
    """

  @1.7-listen-until
  Scenario: Until by all of several events
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-all, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-all.stop, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-all.a, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-all.stop, data: 3 } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.until-all.a, data: 4 } } } }
      - say5: { emit: { event: { with: { type: com.example.listen.until-all.halt, data: 5 } } } }
      - say6: { emit: { event: { with: { type: com.example.listen.until-all.a, data: 6 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-all.a } } ]
              until: { all: [ { with: { type: com.example.listen.until-all.halt } }, { with: { type: com.example.listen.until-all.stop } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 2, 4 ]
    """

  @1.7-listen-until
  Scenario: Until by any of several events
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-any, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-any.a, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-any.halt, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-any.a, data: 3 } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.until-any.stop, data: 4 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-any.a } } ]
              until: { any: [ { with: { type: com.example.listen.until-any.stop } }, { with: { type: com.example.listen.until-any.halt } } ] }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 1 ]
    """

  @1.7-listen-until @T55
  Scenario: Until comes first, and the output is an empty list
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-first, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-first.stop, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-first.a, data: 2 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-first.a } } ]
              until: { one: { with: { type: com.example.listen.until-first.stop } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    []
    """

  @1.7-listen-until
  Scenario: An event that matches both ends the listening
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-both, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.until-both, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.until-both, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.until-both, data: 3 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.until-both } } ]
              until: { one: { with: { type: com.example.listen.until-both, data: 2 } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 1 ]
    """

  @1.7-listen-until
  Scenario: An until inside of until is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: until-nested, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.nested } } ]
              until: { any: [ { with: { type: com.example.listen.stop } } ], until: '. == 1' }
    """
    Then the definition should be refused with 'conflicting_properties' at '/do/0/heard/listen/to/until/until'

  @1.7-listen-filter
  Scenario: A filter without an attribute is refused
    Given a definition that is refused:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-empty, version: '1.0.0' }
    do:
      - heard: { listen: { to: { one: { with: {} } } } }
    """
    Then the definition should be refused with 'invalid_value' at '/do/0/heard/listen/to/one/with'

  @1.7-listen-filter @T57
  Scenario: A text is a regular expression for the whole of the attribute
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-regular, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.regular.ab, data: 1 } } } }
      - say2: { emit: { event: { with: { type: x.com.example.listen.regular.b, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.regular.b, data: 3 } } } }
      - heard:
          listen:
            to: { one: { with: { type: 'com\.example\.listen\.regular\.(a|b)' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 3 ]
    """

  @1.7-listen-filter @T57
  Scenario: A text that is no regular expression matches itself
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-literal, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.cc, data: 1 } } } }
      - say2: { emit: { event: { with: { type: 'com.example.listen.c++', data: 2 } } } }
      - heard:
          listen:
            to: { one: { with: { type: 'com.example.listen.c++' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 2 ]
    """

  @1.7-listen-filter @T57
  Scenario: All attributes must match
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-attributes, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.both, subject: a, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.both, subject: b, source: /elsewhere, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.both, subject: b, source: /here, data: 3 } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.both, subject: b, source: /here } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 3 ]
    """

  @1.7-listen-filter @T57
  Scenario: An expression sees the value of the attribute, and its failure faults no task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-expression, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.expression } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.expression, data: [ 11 ] } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.expression, data: { n: 3 } } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.expression, data: { n: 11 } } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.expression, data: '${ .n > 10 }' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 11 } ]
    """

  @1.7-listen-filter @T57
  Scenario: An expression sees the envelope as $event
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-event, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.event, subject: a, data: b } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.event, subject: b, data: c } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.event, subject: c, data: c } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.event, data: '${ $event.subject == . }' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ c ]
    """

  @1.7-listen-filter @T57
  Scenario: An expression that yields neither true nor false is compared with the attribute
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-compared, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.compared, subject: a7, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.compared, subject: b8, data: 2 } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.compared, subject: '${ $workflow.input.prefix + "8" }' } } }
    """
    And the workflow input is:
    """yaml
    { prefix: b }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 2 ]
    """

  @1.7-listen-filter @T57
  Scenario: What an expression yields is no pattern
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-no-pattern, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.pattern, subject: abc, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.pattern, subject: a.*, data: 2 } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.pattern, subject: '${ $workflow.input.wanted }' } } }
    """
    And the workflow input is:
    """yaml
    { wanted: 'a.*' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 2 ]
    """

  @1.7-listen-filter @T57
  Scenario: Null does not match
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-null, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.null, data: null } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.null, data: { n: 2, ok: true } } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.null, data: '${ .ok }' } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 2, ok: true } ]
    """

  @1.7-listen-filter @T57
  Scenario: An object is a subset, in depth
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-subset, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.subset, data: { order: { id: 8, item: cup } } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.subset, data: { id: 7 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.subset, data: { order: { id: 7, item: cup }, paid: true } } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.subset, data: { order: { id: 7 } } } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { order: { id: 7, item: cup }, paid: true } ]
    """

  @1.7-listen-filter @T57
  Scenario: Lists and numbers are equal
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: filter-equal, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.equal, data: { list: [ 1, 2, 3 ] } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.equal, data: { list: [ 2, 1 ] } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.equal, data: { list: [ 1.0, 2 ], last: true } } } } }
      - heard:
          listen:
            to: { one: { with: { type: com.example.listen.equal, data: { list: [ 1, 2 ] } } } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { list: [ 1, 2 ], last: true } ]
    """

  @1.7-listen-correlate @T58
  Scenario: Without expect the first event decides, for all filters that use the key
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: correlate-first, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.first.b, data: { order: 2, n: 1 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.first.a, data: { order: 1, n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.first.b, data: { order: 1, n: 3 } } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.first.a, data: { order: 2, n: 4 } } } } }
      - heard:
          listen:
            to:
              all:
                - with: { type: com.example.listen.first.a }
                  correlate: { order: { from: .data.order } }
                - with: { type: com.example.listen.first.b }
                  correlate: { order: { from: '${ .data.order }' } }
          output: { as: 'map(.n)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 1, 4 ]
    """

  @1.7-listen-correlate @T58 @T70
  Scenario: Expect as a bare expression sees the input of the task, and from the envelope
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: expect-bare, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.expect-bare, subject: A7, data: { n: 1, subject: B8 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.expect-bare, data: { n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.expect-bare, subject: B8, data: { n: 3 } } } } }
      - heard:
          input: { from: { id: B8 } }
          listen:
            to:
              one:
                with: { type: com.example.listen.expect-bare }
                correlate: { order: { from: .subject, expect: '.id' } }
          output: { as: 'map(.n)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 3 ]
    """

  @1.7-listen-correlate @T58 @T70
  Scenario: Expect as an enclosed expression sees the input of the task, and from the envelope
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: expect-enclosed, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.expect-enclosed, subject: A7, data: { n: 1, subject: B8 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.expect-enclosed, data: { n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.expect-enclosed, subject: B8, data: { n: 3 } } } } }
      - heard:
          input: { from: { id: B8 } }
          listen:
            to:
              one:
                with: { type: com.example.listen.expect-enclosed }
                correlate: { order: { from: .subject, expect: '${ .id }' } }
          output: { as: 'map(.n)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 3 ]
    """

  @1.7-listen-correlate @T58
  Scenario: Null never matches
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: correlate-null, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.correlate-null, data: { n: 1 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.correlate-null, data: { n: 2, room: null } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.correlate-null, data: { n: 3, room: 5 } } } } }
      - unknown:
          listen:
            to:
              one:
                with: { type: com.example.listen.correlate-null }
                correlate: { room: { from: .data.room } }
          export: { as: '{ unknown: . }' }
      - expected:
          listen:
            to:
              any:
                - with: { type: com.example.listen.correlate-null, data: { n: 1 } }
                  correlate: { room: { from: .data.room, expect: .nothing } }
                - with: { type: com.example.listen.correlate-null, data: { n: 2 } }
          input: { from: '{}' }
    output: { as: '{ unknown: $context.unknown, expected: . }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    unknown: [ { n: 3, room: 5 } ]
    expected: [ { n: 2, room: null } ]
    """

  @1.7-listen-correlate @T58
  Scenario: Several keys must all be equal, and until shares them
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: correlate-several, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.several.a, data: { room: x, floor: 1, n: 1 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.several.a, data: { room: x, floor: 2, n: 2 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.several.stop, data: { room: y, floor: 1, n: 3 } } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.several.a, data: { room: x, floor: 1, n: 4 } } } } }
      - say5: { emit: { event: { with: { type: com.example.listen.several.stop, data: { room: x, floor: 1, n: 5 } } } } }
      - say6: { emit: { event: { with: { type: com.example.listen.several.a, data: { room: x, floor: 1, n: 6 } } } } }
      - heard:
          listen:
            to:
              any:
                - with: { type: com.example.listen.several.a }
                  correlate: { room: { from: .data.room }, floor: { from: .data.floor } }
              until:
                one:
                  with: { type: com.example.listen.several.stop }
                  correlate: { room: { from: .data.room } }
          output: { as: 'map(.n)' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ 1, 4 ]
    """

  @1.7-listen-read
  Scenario: Data is read by default, and when asked for
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: read-data, version: '1.0.0' }
    do:
      - plain:
          listen: { to: { one: { with: { type: com.example.listen.read-data } } } }
          export: { as: '{ plain: . }' }
      - asked:
          listen: { to: { one: { with: { type: com.example.listen.read-data } } }, read: data }
    output: { as: '{ plain: $context.plain, asked: . }' }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'data-1', source: /listen/read, type: com.example.listen.read-data, data: { n: 1 } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    { plain: [ { n: 1 } ], asked: [ { n: 1 } ] }
    """

  @1.7-listen-read
  Scenario: An envelope has the attributes and the data
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: read-envelope, version: '1.0.0' }
    do:
      - heard:
          listen: { to: { one: { with: { type: com.example.listen.read-envelope } } }, read: envelope }
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'envelope-1', source: /listen/read, type: com.example.listen.read-envelope, subject: one, time: '2026-05-04T03:02:01Z', datacontenttype: application/json, shelf: left, data: { n: 1 } }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    - specversion: '1.0'
      id: envelope-1
      source: /listen/read
      type: com.example.listen.read-envelope
      subject: one
      time: '2026-05-04T03:02:01Z'
      datacontenttype: application/json
      shelf: left
      data: { n: 1 }
    """

  @1.7-listen-read @T65
  Scenario: Raw is the data as it came: text, or base64
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: read-raw, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.read-raw } } ]
              until: 'length == 5'
            read: raw
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'raw-1', source: /listen/read, type: com.example.listen.read-raw, datacontenttype: text/plain, data: 'one: 1' }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'raw-2', source: /listen/read, type: com.example.listen.read-raw, datacontenttype: text/csv, data_base64: YSxiCjEsMgo= }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'raw-3', source: /listen/read, type: com.example.listen.read-raw, datacontenttype: application/octet-stream, data_base64: AAEC }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'raw-4', source: /listen/read, type: com.example.listen.read-raw, data: { b: 1, a: [ 2 ] } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'raw-5', source: /listen/read, type: com.example.listen.read-raw, datacontenttype: application/vnd.example+json, data_base64: eyAibiI6IDEgfQ== }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    - 'one: 1'
    - "a,b\n1,2\n"
    - AAEC
    - '{"a":[2],"b":1}'
    - '{ "n": 1 }'
    """

  @1.7-listen-read @T65
  Scenario: The same read as data
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: read-raw-data, version: '1.0.0' }
    do:
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.read-as-data } } ]
              until: 'length == 5'
    """
    When the workflow is started
    And the workflow is waiting
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'as-data-raw-1', source: /listen/read, type: com.example.listen.read-as-data, datacontenttype: text/plain, data: 'one: 1' }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'as-data-raw-2', source: /listen/read, type: com.example.listen.read-as-data, datacontenttype: text/csv, data_base64: YSxiCjEsMgo= }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'as-data-raw-3', source: /listen/read, type: com.example.listen.read-as-data, datacontenttype: application/octet-stream, data_base64: AAEC }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'as-data-raw-4', source: /listen/read, type: com.example.listen.read-as-data, data: { b: 1, a: [ 2 ] } }
    """
    And the event is published:
    """yaml
    { specversion: '1.0', id: 'as-data-raw-5', source: /listen/read, type: com.example.listen.read-as-data, datacontenttype: application/vnd.example+json, data_base64: eyAibiI6IDEgfQ== }
    """
    And the workflow has ended
    Then the workflow should complete with output:
    """yaml
    - 'one: 1'
    - "a,b\n1,2\n"
    - AAEC
    - { b: 1, a: [ 2 ] }
    - { n: 1 }
    """

  @1.7-listen-foreach @T73
  Scenario: Foreach handles events one after another, each from the input of the task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: foreach, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.foreach, data: { n: 10 } } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.foreach, data: { n: 20 } } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.foreach, data: { n: 30 } } } } }
      - heard:
          input: { from: { base: 100 } }
          listen:
            to:
              any: [ { with: { type: com.example.listen.foreach } } ]
              until: 'length == 3'
          foreach:
            item: reading
            at: place
            do:
              - first: { set: { sum: '${ .base + $reading.n }', input: '${ $input.base }', place: '${ $place }', before: '${ $context.seen // 0 }' } }
              - second: { set: '${ . + { done: true } }' }
            output: { as: '{ sum, place, before, done, named: $reading.n }' }
            export: { as: '{ seen: (($context.seen // 0) + .sum + $place) }' }
    output: { as: '{ list: ., context: $context }' }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    list:
      - { sum: 110, place: 0, before: 0, done: true, named: 10 }
      - { sum: 120, place: 1, before: 110, done: true, named: 20 }
      - { sum: 130, place: 2, before: 231, done: true, named: 30 }
    context: { seen: 363 }
    """
    And first should run 3 times
    And second should stand at '/do/3/heard/foreach/do/1/second'

  @1.7-listen-foreach
  Scenario: Foreach has item and index without other names, and works with one
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: foreach-default, version: '1.0.0' }
    do:
      - say: { emit: { event: { with: { type: com.example.listen.foreach-default, data: { n: 5 } } } } }
      - heard:
          listen: { to: { one: { with: { type: com.example.listen.foreach-default } } }, read: envelope }
          foreach:
            do:
              - note: { set: { n: '${ $item.data.n }', index: '${ $index }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { n: 5, index: 0 } ]
    """

  @1.7-listen-foreach @1.7-listen-until
  Scenario: Until sees the results of foreach, and what came later is left
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: foreach-until, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.foreach-until, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.foreach-until, data: 2 } } } }
      - say3: { emit: { event: { with: { type: com.example.listen.foreach-until, data: 3 } } } }
      - say4: { emit: { event: { with: { type: com.example.listen.foreach-until, data: 4 } } } }
      - heard:
          listen:
            to:
              any: [ { with: { type: com.example.listen.foreach-until } } ]
              until: '(map(.square) | add) > 10'
          foreach:
            do:
              - note: { set: { square: '${ $item * $item }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [ { square: 1 }, { square: 4 }, { square: 9 } ]
    """
    And note should run 3 times

  @1.7-listen-foreach
  Scenario: A fault in foreach is one of the task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: foreach-fault, version: '1.0.0' }
    do:
      - say1: { emit: { event: { with: { type: com.example.listen.foreach-fault, data: 1 } } } }
      - say2: { emit: { event: { with: { type: com.example.listen.foreach-fault, data: 2 } } } }
      - guarded:
          try:
            - heard:
                listen:
                  to:
                    any: [ { with: { type: com.example.listen.foreach-fault } } ]
                    until: 'length == 2'
                foreach:
                  do:
                    - refuse: { raise: { error: { type: 'https://example.com/errors/refused', status: 400 } } }
          catch:
            as: problem
            do:
              - told: { set: { type: '${ $problem.type }', instance: '${ $problem.instance }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    type: https://example.com/errors/refused
    instance: /do/2/guarded/try/0/heard/foreach/do/0/refuse
    """
    And refuse should run 1 time

  @1.7-listen
  Scenario: A listen ends by its timeout, and can be cancelled
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: listen, name: timeout, version: '1.0.0' }
    do:
      - guarded:
          try:
            - heard:
                listen: { to: { one: { with: { type: com.example.listen.never } } } }
                timeout: { after: { milliseconds: 20 } }
          catch:
            errors: { with: { status: 408 } }
            do: [ { told: { set: { late: true } } } ]
      - forever: { listen: { to: { one: { with: { type: com.example.listen.never } } } } }
    """
    When the workflow is started
    And forever has run 1 time
    And the workflow is waiting
    And the execution is cancelled
    And the workflow has ended
    Then the workflow should cancel
    And told should complete with output:
    """yaml
    late: true
    """
    And heard should fault with error:
    """yaml
    { status: 408, instance: /do/0/guarded/try/0/heard }
    """
    And forever should cancel
