/// Defines an enum of words ([`disklab_units::words`]) that can be the value of a key.
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $noun:literal { $($variants:tt)+ }) => {
        disklab_units::words! {
            $(#[$meta])*
            $vis enum $name: $noun { $($variants)+ }
        }

        $crate::read::parsed! { $name: concat!("the name of a ", $noun, " in quotes"), }
    };
}
pub(crate) use choices;
