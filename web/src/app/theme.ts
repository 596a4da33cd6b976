import {
  createTheme,
  type CSSVariablesResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from "@mantine/core";

/** Shades of Mantine as our tokens: what it draws with them has the colours of internal/page/tokens.css. */
const tuple = (...tokens: string[]) => tokens.map((token) => `var(--${token})`) as unknown as MantineColorsTuple;

const accent = tuple(...Array.from({ length: 10 }, () => "accent"));
const gray = tuple("panel", "hover", "line", "line", "control", "ink-2", "ink-2", "ink-2", "ink", "ink");
const dark = tuple("ink", "ink", "ink-2", "ink-2", "control", "hover", "page", "page", "panel", "panel");

const variants: VariantColorsResolver = ({ color, variant }) => {
  const tone = color === "red" ? "var(--error)" : "var(--accent)";
  if (variant === "filled") {
    const hover = color === "red" ? "var(--error)" : "var(--accent-strong)";
    return { background: tone, hover, color: "var(--on-accent)", border: "1px solid transparent" };
  }
  if (variant === "subtle" || variant === "transparent") {
    return { background: "transparent", hover: "var(--hover)", color: tone, border: "1px solid transparent" };
  }
  const ink = color === "red" ? tone : "var(--ink)";
  return { background: "var(--page)", hover: "var(--hover)", color: ink, border: "1px solid var(--control)" };
};

export const theme = createTheme({
  primaryColor: "accent",
  colors: { accent, gray, dark },
  variantColorResolver: variants,
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  defaultRadius: 4,
  components: {
    Button: { defaultProps: { size: "xs" } },
    ActionIcon: { defaultProps: { variant: "subtle" } },
    TextInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    NativeSelect: { defaultProps: { size: "xs" } },
    Modal: { defaultProps: { transitionProps: { duration: 0 } } },
  },
});

export const variables: CSSVariablesResolver = () => ({
  variables: {
    "--mantine-color-body": "var(--page)",
    "--mantine-color-text": "var(--ink)",
    "--mantine-color-dimmed": "var(--ink-2)",
    "--mantine-color-placeholder": "var(--ink-2)",
    "--mantine-color-anchor": "var(--accent)",
    "--mantine-color-default": "var(--page)",
    "--mantine-color-default-hover": "var(--hover)",
    "--mantine-color-default-color": "var(--ink)",
    "--mantine-color-default-border": "var(--control)",
    "--mantine-primary-color-contrast": "var(--on-accent)",
  },
  // Mantine sets this one for each scheme.
  light: { "--mantine-color-error": "var(--error)" },
  dark: { "--mantine-color-error": "var(--error)" },
});
