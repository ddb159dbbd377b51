import "../../crates/emberscope-html/src/tokens.css";
import "../../crates/emberscope-html/src/base.css";
import "./app.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { applyStoredTheme } from "./lib/theme.svelte";

applyStoredTheme();
const target = document.getElementById("app");
if (target) mount(App, { target });
