/**
 * What a route has taken from the address, for `route.useMatch({ select: checked })`. The router's own `useSearch` also
 * has what the route has refused: an address that was mistyped must not break a page.
 */
// oxlint-disable-next-line no-underscore-dangle
export const checked = <T>(match: { _strictSearch: T }): T => match._strictSearch;
