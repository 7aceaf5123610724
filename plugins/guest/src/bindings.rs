//! The contract as Rust, made from `wit/`: every import once, and one module for each seam that a plugin can export.
//!
//! A seam is a world of its own, so that a plugin exports just the seams it
//! names; what it imports is what its code calls, as the linker drops the rest.

/// Everything that can be imported.
pub mod imports {
    wit_bindgen::generate!({
        path: ["../../wit/session", "../../wit/agent", "../../wit/plugin"],
        inline: "
            package dsh:guest;
            world imports {
                import dsh:plugin/config@0.1.0;
                import dsh:plugin/log@0.1.0;
                import dsh:session/query@0.1.0;
                import dsh:agent/pre-step@0.1.0;
                import dsh:agent/tools@0.1.0;
                import dsh:agent/invocations@0.1.0;
                import dsh:agent/agents@0.1.0;
            }
        ",
        generate_all,
    });
}

/// Declares the module of one seam: its world, and which of its types are already in [`imports`].
macro_rules! seam {
    ($(#[$doc:meta])* $module:ident, $wit:literal, { $($interface:literal: $path:path),+ $(,)? }) => {
        $(#[$doc])*
        pub mod $module {
            wit_bindgen::generate!({
                path: ["../../wit/session", "../../wit/agent", "../../wit/plugin"],
                inline: $wit,
                with: { $($interface: $path),+ },
                generate_all,
                pub_export_macro: true,
            });
        }
    };
}

seam!(
    /// Exports `dsh:agent/pre-step`.
    pre_step,
    "package dsh:guest; world pre-step { export dsh:agent/pre-step@0.1.0; }",
    {
        "dsh:session/types@0.1.0": crate::bindings::imports::dsh::session::types,
        "dsh:agent/messages@0.1.0": crate::bindings::imports::dsh::agent::messages,
    }
);

seam!(
    /// Exports `dsh:agent/mentions`.
    mentions,
    "package dsh:guest; world mentions { export dsh:agent/mentions@0.1.0; }",
    { "dsh:session/types@0.1.0": crate::bindings::imports::dsh::session::types }
);

seam!(
    /// Exports `dsh:agent/references`.
    references,
    "package dsh:guest; world references { export dsh:agent/references@0.1.0; }",
    { "dsh:session/types@0.1.0": crate::bindings::imports::dsh::session::types }
);

seam!(
    /// Exports `dsh:agent/tool-gate`.
    tool_gate,
    "package dsh:guest; world tool-gate { export dsh:agent/tool-gate@0.1.0; }",
    {
        "dsh:session/types@0.1.0": crate::bindings::imports::dsh::session::types,
        "dsh:agent/tools@0.1.0": crate::bindings::imports::dsh::agent::tools,
    }
);

seam!(
    /// Exports `dsh:agent/commands`.
    commands,
    "package dsh:guest; world commands { export dsh:agent/commands@0.1.0; }",
    {
        "dsh:session/types@0.1.0": crate::bindings::imports::dsh::session::types,
        "dsh:agent/invocations@0.1.0": crate::bindings::imports::dsh::agent::invocations,
    }
);
