/// Declares a struct together with how each of its fields is read from a table.
///
/// `field: Type = method(arguments)` calls that method of [`TomlTable`](super::TomlTable) with the
/// field's name as the key, and `field["key"]` with another key. `from_table` reads all fields
/// before a missing field ends it, so that all mistakes are found at once. Names in parentheses
/// after the name of the struct are further parameters of `from_table`. Arguments may use these
/// parameters, and the fields above.
macro_rules! from_table {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(($($given:ident: $given_type:ty),+))? {
            $(
                $(#[$field_meta:meta])*
                $field_vis:vis $field:ident $([$key:literal])?: $type:ty =
                    $method:ident($($argument:expr),* $(,)?),
            )+
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)+
        }

        impl $name {
            /// The keys of the table, in the order of the fields.
            pub const KEYS: &[&str] = &[$([$($key,)? stringify!($field)][0]),+];

            pub(crate) fn from_table(
                table: &$crate::read::TomlTable<'_, '_>,
                $($($given: $given_type),+)?
            ) -> Option<Self> {
                $(
                    let key = [$($key,)? stringify!($field)][0];
                    let $field: Option<$type> = table.$method(key, $($argument),*);
                )+
                Some(Self { $($field: $field?),+ })
            }
        }
    };
}
pub(crate) use from_table;
