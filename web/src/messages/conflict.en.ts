/** Texts of a definition that another person has changed meanwhile. */
export const conflict = {
  title: "Conflict",
  changed: (name: string) => `${name} has changed since you began. Your text is not saved.`,
  taken: (name: string) => `There is a workflow ${name} already. Your text is not saved.`,
  theirs: (version: string, by: string | undefined) =>
    by === undefined ? `Version ${version}` : `Version ${version} by ${by},`,
  help: "Nothing is lost. Put together what shall stay, on the side of your text; theirs remains a version of its own.",
  continue: "Continue with mine",
  take: "Continue with theirs",
  theirsName: "Theirs",
  mine: "Mine",
  base: "Before both",
  view: "Compare",
  views: { both: "Theirs and mine", theirs: "What they changed", mine: "What I changed" },
};
