import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import type { Environment } from "./environment.ts";
import { Problem } from "./problem.ts";
import { queries, question } from "./query.ts";

export type User = Schemas["User"];
export type Group = Schemas["UserGroup"];
export type Grant = Schemas["Grant"];
export type FoundUser = Schemas["FoundUser"];
export type Link = Schemas["OneUseLink"];
export type UserStatus = User["status"];
export type Role = Grant["role"];

export const userStatuses = ["active", "invited", "disabled"] as const satisfies readonly UserStatus[];
export const roles = [
  "participant",
  "viewer",
  "operator",
  "author",
  "publisher",
  "admin",
] as const satisfies readonly Role[];

/** What a list of users is limited to. It is the address of the page too. */
export interface UserFilter {
  q?: string;
  status?: UserStatus;
}

const limit = 100;

/** A list by cursor. Users, groups and grants are the same in both environments. */
function list<T>(
  key: readonly unknown[],
  ask: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<{ data?: T }>,
) {
  return infiniteQueryOptions({
    queryKey: ["people", ...key],
    queryFn: ({ pageParam, signal }) =>
      answer(ask({ limit, ...(pageParam !== undefined && { cursor: pageParam }) }, signal)) as Promise<
        T & { cursor: string | null }
      >,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: { cursor: string | null }) => last.cursor ?? undefined,
    refetchOnWindowFocus: false,
  });
}

const one = <T>(key: readonly unknown[], ask: (signal: AbortSignal) => Promise<{ data?: T }>) => ({
  ...question(key, ask),
  queryKey: ["people", ...key],
});

export const usersQuestion = (filter: UserFilter) =>
  list(["users", filter], (page, signal) =>
    client.GET("/users", { params: { query: { ...filter, ...page } }, signal }),
  );

export const userQuestion = (id: string) =>
  one(["user", id], (signal) => client.GET("/users/{userId}", { params: { path: { userId: id } }, signal }));

export const groupsQuestion = () =>
  list(["groups"], (page, signal) => client.GET("/groups", { params: { query: page }, signal }));

export const groupQuestion = (id: string) =>
  one(["group", id], (signal) => client.GET("/groups/{groupId}", { params: { path: { groupId: id } }, signal }));

export const membersQuestion = (id: string) =>
  list(["members", id], (page, signal) =>
    client.GET("/groups/{groupId}/members", { params: { path: { groupId: id }, query: page }, signal }),
  );

/** Who has a role. */
export type Holder = { user_id: string } | { group_id: string };

/** All grants, or those over a workflow, its namespace, and everything. */
export const grantsQuestion = (workflow: string | undefined) =>
  list(["grants", workflow], (page, signal) =>
    client.GET("/grants", {
      params: { query: { ...(workflow !== undefined && { workflow_id: workflow }), ...page } },
      signal,
    }),
  );

/** The grants of a user, without those by groups, or of a group. There are 100 at most, which is one page. */
export const heldQuestion = (holder: Holder) =>
  one(["held", holder], (signal) => client.GET("/grants", { params: { query: { ...holder, limit } }, signal }));

/** Active users, and groups, whose names begin with a text. */
export const foundQuestion = (q: string) =>
  one(["found", q], (signal) => client.GET("/people", { params: { query: { q, limit: 20 } }, signal }));

/** Everything about people is asked again: a change of one is seen in many places. The own rights may be among them. */
const changed = () =>
  Promise.all([
    queries.invalidateQueries({ queryKey: ["people"] }),
    queries.invalidateQueries({ queryKey: ["me"], refetchType: "active" }),
  ]);

/** Does something that changes users, groups or grants. */
async function change<T>(asked: Promise<{ data?: T }>): Promise<T> {
  const done = await answer(asked);
  await changed();
  return done;
}

/** Does away with something whose page is shown: the page is left before anything is asked again. */
async function away(key: readonly unknown[], asked: Promise<unknown>, leave: () => Promise<void>): Promise<void> {
  await asked;
  await leave();
  queries.removeQueries({ queryKey: ["people", ...key] });
  await changed();
}

/** A role as a form has it. */
export interface NewRole {
  role: Role;
  namespace?: string;
  workflow_id?: string;
  environments: Environment[];
}

export const invite = (body: { email: string; name: string; grants: NewRole[] }, once: string): Promise<User> =>
  change(client.POST("/users", { body, params: { header: { "Idempotency-Key": once } } }));

export const setStatus = (id: string, status: "active" | "disabled"): Promise<User> =>
  change(client.PATCH("/users/{userId}", { params: { path: { userId: id } }, body: { status } }));

export const removeUser = (id: string, leave: () => Promise<void>): Promise<void> =>
  away(["user", id], client.DELETE("/users/{userId}", { params: { path: { userId: id } } }), leave);

/** Makes a link with which a user sets another password. */
export const resetUser = (id: string, once: string): Promise<Link> =>
  answer(
    client.POST("/users/{userId}/reset", {
      params: { path: { userId: id }, header: { "Idempotency-Key": once } },
      body: {},
    }),
  );

export const createGroup = (name: string, once: string): Promise<Group> =>
  change(client.POST("/groups", { body: { name }, params: { header: { "Idempotency-Key": once } } }));

export const renameGroup = (id: string, name: string): Promise<Group> =>
  change(client.PATCH("/groups/{groupId}", { params: { path: { groupId: id } }, body: { name } }));

export const deleteGroup = (id: string, leave: () => Promise<void>): Promise<void> =>
  away(["group", id], client.DELETE("/groups/{groupId}", { params: { path: { groupId: id } } }), leave);

const place = (group: string, user: string) => ({ params: { path: { groupId: group, userId: user } } });

export const joinGroup = (group: string, user: string): Promise<unknown> =>
  change(client.PUT("/groups/{groupId}/members/{userId}", place(group, user)));

export const leaveGroup = (group: string, user: string): Promise<unknown> =>
  change(client.DELETE("/groups/{groupId}/members/{userId}", place(group, user)));

export const giveRole = (holder: Holder, role: NewRole, once: string): Promise<Grant> =>
  change(client.POST("/grants", { body: { ...holder, ...role }, params: { header: { "Idempotency-Key": once } } }));

export const takeRole = (id: string): Promise<unknown> =>
  change(client.DELETE("/grants/{grantId}", { params: { path: { grantId: id } } }));

/** The id of a workflow by namespace/name. What is wrong is a problem of the field at the pointer. */
export async function workflowId(name: string, pointer: string): Promise<string> {
  try {
    const path = name.trim().replace("/", ".");
    return (await answer(client.GET("/workflows/{workflowId}", { params: { path: { workflowId: path } } }))).id;
  } catch (error) {
    if (error instanceof Problem && (error.status === 404 || error.status === 400)) {
      const detail = error.message;
      throw new Problem(error.status, { code: error.code, title: error.title, detail, errors: [{ pointer, detail }] });
    }
    throw error;
  }
}
