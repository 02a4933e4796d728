import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y-x";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["dist", "**/*.generated.ts"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    files: ["src/**/*.{ts,tsx}"],
    // Tests take values out of components.
    ignores: ["**/*.test.tsx"],
    extends: [reactHooks.configs.flat["recommended-latest"]],
  },
  {
    files: ["src/**/*.tsx"],
    extends: [jsxA11y.configs.strict],
    rules: {
      // An area that scrolls needs the keyboard's focus to be scrolled.
      "jsx-a11y-x/no-noninteractive-tabindex": ["error", { tags: ["pre"], roles: ["region", "group"] }],
    },
  },
  // Scripts of the build are run by Node as they are.
  {
    files: ["scripts/*.js"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: { process: "readonly", console: "readonly", fetch: "readonly" } },
  },
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js", "scripts/*.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      // Numbers read well in messages and need no ceremony there.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text from the server goes through textContent." },
        { property: "outerHTML", message: "Text from the server goes through textContent." },
        { property: "insertAdjacentHTML", message: "Text from the server goes through textContent." },
      ],
    },
  },
);
