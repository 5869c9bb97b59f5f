/** One SKILL.md: many times what a model would want to read. */
export const SKILL_FILE_BYTES_MAX = 256 * 1_024;

/** Its frontmatter: a page of it is much, and YAML is slow. */
export const SKILL_FRONTMATTER_CHARS_MAX = 16 * 1_024;

/** Skills of one session; those that are later in the order of names are left out. */
export const SKILLS_MAX = 5_000;

/** What they weigh together; a session keeps them all as one blob. */
export const SKILLS_BYTES_MAX = 8 * 1_024 * 1_024;

/** What of all files is held at once before it is known which of them are taken. */
export const SKILLS_READ_BYTES_MAX = 32 * 1_024 * 1_024;

/** Names in one skill root; one that has more is no place for skills. */
export const SKILL_ROOT_ENTRIES_MAX = 10_000;

/** Files and directories that are looked at together. */
export const SKILL_READS_AT_ONCE_MAX = 16;

/** Diagnostics of one load of skills, and the length of one message. */
export const SKILL_DIAGNOSTICS_MAX = 2_000;
export const SKILL_MESSAGE_CHARS_MAX = 512;

/** Names that people type, in UTF-16 units. */
export const SKILL_NAME_CHARS_MAX = 128;
export const SKILL_ALIAS_CHARS_MAX = 64;

/** A summary is a sentence or some; the public format has 1,024. */
export const SKILL_SUMMARY_CHARS_MAX = 4_096;

/** Tools, variables and programs that one skill asks for, of each, and the length of a name. */
export const SKILL_NEEDS_MAX = 64;
export const SKILL_NEED_CHARS_MAX = 256;

/** Different programs that one load looks for, and the directories of PATH it looks into. */
export const SKILL_BINARIES_MAX = 1_024;
export const SKILL_PATH_FOLDERS_MAX = 256;

/** The list of skills in an agent's instructions, and one summary in it. */
export const SKILL_INDEX_CHARS_MAX = 32 * 1_024;
export const SKILL_INDEX_SUMMARY_CHARS_MAX = 512;

/** Lines that the difference between two snapshots has. */
export const DIFFERENCE_LINES_MAX = 200;

/** One persona file. It is part of the agent's instructions, so it is kept short. */
export const PERSONA_FILE_BYTES_MAX = 64 * 1_024;

/** Loads of skills, and as many of personas, that are kept in memory: their files together. */
export const LOADS_KEPT_BYTES_MAX = 32 * 1_024 * 1_024;

/** Paths that are looked at together to see whether a load is still good. */
export const LOAD_LOOKS_AT_ONCE_MAX = 64;

/** How old a change must be for the next one to show: the coarsest clock of a file system. */
export const LOAD_SETTLED_MS_MIN = 2_000;

/** Snapshots of skills, and as many of personas, that sessions share in memory. */
export const SNAPSHOTS_KNOWN_BYTES_MAX = 32 * 1_024 * 1_024;

/** Extensions that one session has at work: each is a thread, and each step waits for all. */
export const EXTENSIONS_ACTIVE_MAX = 16;

/** Threads of extensions in one server, of all sessions: each takes several megabytes at rest. */
export const EXTENSION_THREADS_MAX = 128;

/** Others that one extension may name as what it depends on. */
export const EXTENSION_DEPENDENCIES_MAX = 32;

/** A manifest with the schemas of its configuration and its slot. */
export const EXTENSION_MANIFEST_BYTES_MAX = 64 * 1_024;

/** What one extension is configured with, and the operator's file with all of that. */
export const EXTENSION_CONFIG_BYTES_MAX = 64 * 1_024;
export const EXTENSION_FILE_BYTES_MAX = 1_024 * 1_024;

/** One slot of an extension: all that may be active fit into one commit many times over. */
export const EXTENSION_SLOT_BYTES_MAX = 1_024 * 1_024;

/**
 * Slots of a session's extensions together, those of absent ones included: the server's own slots
 * and a turn fit into the same commit.
 */
export const EXTENSION_SLOTS_BYTES_MAX = 24 * 1_024 * 1_024;

/** Nesting of what an extension keeps or is configured with, and of the schemas of both. */
export const PLAIN_DATA_DEPTH_MAX = 64;

/** One step of an extension's life; a session waits for it when it begins and when it ends. */
export const EXTENSION_STEP_MS_MAX = 10_000;

/**
 * Bringing up all extensions of a session, for which its creation and its first turn wait: one may
 * take all the time that a step has, and others still come up.
 */
export const EXTENSIONS_UP_MS_MAX = 20_000;

/** Why an extension failed, in its own words: a person reads it in a list. */
export const EXTENSION_REASON_CHARS_MAX = 512;

/** The same as its thread sends it: it is cut to the above when known secrets are out of it. */
export const EXTENSION_SAID_CHARS_MAX = 16 * 1_024;

/** What an extension has an agent told in front of one prompt. */
export const EXTENSION_CONTEXT_CHARS_MAX = 16 * 1_024;

/** What a hook may take, for which an agent and people wait; and an event, and a migration. */
export const EXTENSION_WORK_MS_MAX = 5_000;

/**
 * What an extension has not answered yet, in calls and in characters of what they are about; one
 * that is so far behind is ended. An agent says thousands of chunks in one breath.
 */
export const EXTENSION_CALLS_WAITING_MAX = 8_192;
export const EXTENSION_WAITING_CHARS_MAX = 16 * 1_024 * 1_024;

/** Open tool calls of which a session knows what to tell its extensions when they end. */
export const EXTENSION_CALLS_FOLLOWED_MAX = 256;

/** What an extension is told at a time: more it is neither told nor asked to judge. */
export const EXTENSION_TOLD_CHARS_MAX = 1_024 * 1_024;

/** The heap of an extension's thread, for what lives long and for what is new. */
export const EXTENSION_HEAP_MB_MAX = 64;
export const EXTENSION_YOUNG_HEAP_MB_MAX = 16;

/** Buffers are no part of that heap, so they are looked at, so often. */
export const EXTENSION_BUFFER_BYTES_MAX = 64 * 1_024 * 1_024;
export const EXTENSION_MEMORY_LOOK_MS = 500;

/** What an extension is told or answers at a time, beside its slot. */
export const EXTENSION_ANSWER_BYTES_MAX = 64 * 1_024;
export const EXTENSION_NOTES_MAX = 64;

/** Files and directories of one extension, and what its files weigh together. */
export const EXTENSION_ENTRIES_MAX = 2_000;
export const EXTENSION_CODE_BYTES_MAX = 16 * 1_024 * 1_024;

/** Extensions in one folder of them; one that has more is no place for extensions. */
export const EXTENSIONS_FOUND_MAX = 256;

/** Contents of extensions that an operator trusts; the oldest is forgotten first. */
export const EXTENSIONS_TRUSTED_MAX = 1_000;

/** A workflow in a file: many times the longest that people would follow. */
export const WORKFLOW_FILE_BYTES_MAX = 64 * 1_024;

/** Files in one place of workflows, and faults that are told of one. */
export const WORKFLOWS_FOUND_MAX = 256;
export const WORKFLOW_FAULTS_MAX = 100;

/** Stages of a workflow, rules of one phase of a stage, and conditions of one rule. */
export const WORKFLOW_STAGES_MAX = 32;
export const STAGE_RULES_MAX = 16;
export const RULE_CONDITIONS_MAX = 8;

/** Stages in one parallel group: each has an agent at work. */
export const STAGE_GROUP_MAX = 8;

/** What an agent is told by one stage, before its places are filled. */
export const STAGE_BODY_CHARS_MAX = 16 * 1_024;

/** Attempts of a stage, and how long a retry may wait. */
export const STAGE_ATTEMPTS_MAX = 10;
export const STAGE_BACKOFF_MS_MAX = 10 * 60 * 1_000;

/** Patterns of tools that a stage allows. */
export const STAGE_PATTERNS_MAX = 64;

/** Tool calls in one Act, and how often a rule may lead back. */
export const STAGE_TOOL_CALLS_MAX = 1_000;
export const RULE_TIMES_MAX = 100;

/** What an agent completes a stage with; the results of all stages share a slot. */
export const STAGE_RESULT_BYTES_MAX = 64 * 1_024;

/** Stages that a played workflow may have; a real one has its own limit. */
export const PLAYED_STAGES_MAX = 200;
