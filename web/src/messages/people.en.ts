import { formatList, plural } from "./format.ts";

const sessions = (n: number) => plural(n, "session", "sessions");
const keys = (n: number) => plural(n, "personal key", "personal keys");
const roles = (n: number) => plural(n, "role", "roles");
const groups = (n: number) => plural(n, "group", "groups");

/** What there is, without what there is none of. */
const all = (...parts: [number, (n: number) => string][]): string =>
  formatList(parts.filter(([n]) => n > 0).map(([n, text]) => text(n)));

/** Texts of users, groups, and what they may do. */
export const people = {
  users: "Users",
  user: "User",
  usersHelp: "All users of this account, the newest first.",
  openInvitations:
    "Who is invited and has not come yet. An invitation lasts 72 hours; another one can be sent at any time.",
  noUsers: "No users match.",
  noInvitations: "No invitation is open.",
  search: "Name or e-mail",
  searchHelp: "Begins with",
  status: "Status",
  anyStatus: "any",
  statuses: { active: "active", invited: "invited", disabled: "disabled" },
  statusHelp: {
    active: "active: can sign in",
    invited: "invited: has not come yet.",
    disabled: "disabled: cannot sign in",
  },
  invitationEnds: (at: string) => `The invitation can be accepted until ${at}.`,
  invitationOver: "The invitation has ended: make another one.",
  name: "Name",
  email: "E-mail",
  methods: "Signs in by",
  method: (method: string) =>
    ({ password: "password", passkey: "passkey" })[method] ?? method.replace("oidc:", "identity provider "),
  noMethods: "nothing yet",
  access: "Acts by",
  accessNow: (s: number, k: number) => `${sessions(s)} and ${keys(k)} at the moment`,
  seen: "Last seen",
  never: "never",
  since: "Created",
  groupCount: groups,
  didLink: "What this user has changed",
  doneToLink: "What was changed of this user",

  invite: "Invite a person",
  inviteButton: "Make the invitation",
  inviteHelp: "The next step shows a link, with which the person comes in. It works once, within 72 hours.",
  invited: (name: string) => `${name} is invited`,
  withRole: "Give a role at once",
  withRoleHelp: "Without a role the person can sign in and sees nothing. Roles can be given later.",
  inviteAgain: "Make another link",
  inviteAgainTitle: (name: string) => `Make another invitation for ${name}`,
  inviteAgainHelp: "The link before ends now. The new one works once, within 72 hours.",
  uninvite: "Withdraw the invitation",
  uninviteTitle: (name: string) => `Withdraw the invitation of ${name}`,
  uninviteHelp: "The link ends now, and the person is not in the list any more. You can invite the person again.",
  link: "Link",
  linkOnce: (until: string) => `It works once, until ${until}, and is not shown again.`,
  linkMailed: (email: string) => `The link is on its way to ${email}. You can also hand it over yourself:`,
  linkNotMailed: (email: string) =>
    `This server sends no mail. Hand the link over to ${email} yourself: who opens it first comes in.`,
  linkLost: "The link was made, but the answer that has it got lost. Make another one: this one ends then.",
  linkDone: "I have copied it",

  self: "This is you.",
  disable: "Disable",
  disableTitle: (name: string) => `Disable ${name}`,
  disableHelp: (s: number, k: number) =>
    s + k === 0
      ? "The user cannot sign in from now on. No session is open, and there is no personal key."
      : `The user cannot sign in from now on. This ends within a second: ${all([s, sessions], [k, keys])}.`,
  disableKeeps: "Roles and groups stay. When you enable the user again, the personal keys count again, too.",
  enable: "Enable",
  enableTitle: (name: string) => `Enable ${name}`,
  enableHelp: (r: number, g: number, k: number) =>
    r + g + k === 0
      ? "The user can sign in again, and has no role."
      : `The user can sign in again. This counts again: ${all([r, roles], [g, groups], [k, keys])}.`,
  reset: "Reset the sign-in",
  resetTitle: (name: string) => `Let ${name} set another password`,
  resetButton: "Make the link",
  resetHelp: "You get a link for the user, which works once, within 24 hours. Until it is used, nothing changes.",
  resetEnds: (s: number, k: number) =>
    `When it is used, the password changes, and all sessions, personal keys and passkeys of the user end. ${
      s + k === 0
        ? "No session is open, and there is no personal key."
        : `Today these are ${all([s, sessions], [k, keys])}.`
    }`,
  resetMade: (name: string) => `A link for ${name}`,
  remove: "Remove",
  removeTitle: (name: string) => `Remove ${name}`,
  removeHelp: (r: number, g: number, s: number, k: number) =>
    r + g + s + k === 0
      ? "The user leaves the account. It cannot be undone."
      : `The user leaves the account. This ends for good: ${all([r, roles], [g, groups], [s, sessions], [k, keys])}. It cannot be undone.`,
  removeKeeps:
    "What the user has started stays, under the user's name. To stop a user for a while, disable the user instead.",

  grants: "Roles",
  grantsHelp: "Who may do what: every role that a user or a group has, the newest first.",
  grantsOver: (workflow: string) =>
    `Who may do what with ${workflow}: roles over it, over its namespace, and over everything.`,
  noGrants: "There is no role yet.",
  rolesTitle: "Roles",
  noRoles: "This user has no role: the user can sign in, and sees nothing.",
  noGroupRoles: "This group has no role: being in it allows nothing.",
  role: "Role",
  roles: {
    participant: "participant",
    viewer: "viewer",
    operator: "operator",
    author: "author",
    publisher: "publisher",
    admin: "admin",
  },
  roleHelp: {
    participant: "Starts workflows, answers tasks, and sees what it has started itself.",
    viewer: "Sees workflows, executions and tasks, and changes nothing.",
    operator: "A viewer who also starts, cancels and retries, sends events and answers tasks.",
    author: "A viewer who also writes definitions, and tries them out in test.",
    publisher: "An author who also decides what live runs.",
    admin: "May do everything, and gives roles to others.",
  },
  adminHelp: "This role is over everything, in live and in test.",
  over: "Over",
  overs: { everything: "everything", namespace: "a namespace", workflow: "a workflow" },
  inNamespace: (name: string) => `namespace ${name}`,
  namespaceHelp: "The workflows of this namespace, also those to come",
  workflow: "Workflow",
  workflowHelp: "namespace/name",
  both: "live and test",
  by: "By",
  byGroup: (name: string) => `group ${name}`,
  given: "Since",
  who: "Who",
  whoMissing: "Choose a user or a group first.",
  give: "Give a role",
  giveTo: (name: string) => `Give ${name} a role`,
  giveButton: "Give the role",
  giveHelp: "It counts within a second, also in open sessions. What a user may do is all roles together.",
  take: "Take away",
  takeTitle: (role: string, over: string, holder: string) => `Take away ${role} over ${over} from ${holder}`,
  takeHelp: "It counts within a second, also in open sessions. What other roles and groups allow stays.",
  takeGroupHelp: "It counts within a second for all members of the group. What they have by other roles stays.",
  taken: (role: string, holder: string) => `${role} was taken away from ${holder}.`,
  giveAgain: "Give it again",

  groups: "Groups",
  group: "Group",
  groupsHelp: "Give roles to groups rather than to users: one who changes teams then changes groups, and nothing else.",
  noGroups: "There is no group yet.",
  makeGroup: "New group",
  makeGroupButton: "Make the group",
  groupNameHelp: "Such as Finance. Each name is there once.",
  members: "Members",
  noMembers: "This group has no members.",
  source: "Comes from",
  madeHere: "made here",
  from: (source: string) => source.replace("oidc:", "identity provider "),
  fromHelp: (source: string) =>
    `This group comes from the ${source.replace("oidc:", "identity provider ")}, and its name and members are changed there. They come with each sign-in.`,
  groupLog: "What was changed of this group",
  rename: "Rename",
  renameTitle: (name: string) => `Rename ${name}`,
  deleteGroup: "Delete",
  deleteTitle: (name: string) => `Delete ${name}`,
  deleteHelp: (n: number, more: boolean, r: number) =>
    `It ends ${roles(r)} for ${more ? `more than ${n} members` : plural(n, "member", "members")}. It cannot be undone.`,
  addMember: "Add a member",
  addMemberTitle: (group: string) => `Add a member to ${group}`,
  addMemberHelp: "The member gets the roles of the group within a second.",
  add: "Add",
  addToGroup: "Add to a group",
  addTitle: (name: string) => `Add ${name} to a group`,
  addHelp: "The user gets the roles of the group within a second.",
  choose: "choose",
  noOtherGroup: "There is no other group that was made here.",
  inNoGroup: "In no group.",
  leave: "Take out",
  leaveTitle: (name: string, group: string) => `Take out ${name} from ${group}`,
  leaveHelp: "The roles of the group end for this user within a second. Own roles and those of other groups stay.",
  left: (name: string, group: string) => `${name} was taken out of ${group}.`,
  rejoin: "Add again",

  pickHelp: "Type the beginning of a name or an e-mail. Only active users are found.",
  pickAnyHelp: "Type the beginning of a name or an e-mail. Active users and groups are found.",
  noMatch: (text: string) => `No name begins with ${text}.`,
  another: "Choose another",
};
