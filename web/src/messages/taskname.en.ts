/** Texts for going to a task of a definition, and for renaming it. */
export const taskName = {
  goTo: "Go to a task",
  field: "Name of a task",
  line: (line: number) => `line ${line}`,
  rename: "Rename the task",
  renameTitle: (name: string) => `Rename ${name}`,
  renameHelp: "Each then of the same list that leads to the task is changed with it.",
  name: "Name",
  none: "The cursor is in no task.",
  empty: "A task needs a name.",
  taken: (name: string) => `A task beside it is called ${name} already.`,
  reserved: (name: string) => `then: ${name} has a meaning of its own.`,
  renamed: (before: string, after: string) => `${before} is called ${after} now.`,
};

export type TaskNameTexts = typeof taskName;
